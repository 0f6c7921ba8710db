"""One VaultMemory, called from many threads, or from asyncio: nothing fails, and each call is carried out once."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.rules.conversations.turn import read_turns

WORKERS, ROUNDS = 8, 2
SCOPES = ("user:alice", "channel:harbour")
USER = "Users/alice/lantern/config/USER.md"
FACTS = "Users/alice/lantern/config/FACTS.md"
LOG = "Users/alice/memories/log.md"


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write(USER, "## Tea\n\n- green\n")
    outside.write("Channels/harbour/CHANNEL.md", "## Boats\n\n- Sula\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        opened.index()
        opened.memory_tool(user="alice").execute(
            {"command": "create", "path": "/memories/log.md", "file_text": "# Log\n"}
        )
        yield opened


def calls(memory: VaultMemory, worker: int, number: int) -> list[Callable[[], object]]:
    """What one worker does in one round, each of it in its own words."""
    name = f"w{worker}r{number}"
    tool = memory.memory_tool(user="alice")
    return [
        lambda: memory.record_turn(
            session=f"s{worker}", role="user", user="alice", text=f"I saw the puffin {name}"
        ),
        lambda: memory.search("puffin green Sula", scopes=SCOPES),
        lambda: memory.apply(USER, [{"op": "append", "heading": "Tea", "line": f"cup {name}"}]),
        lambda: memory.context(f"what of {name}?", scopes=SCOPES),
        lambda: memory.add_fact(f"boat {name}", "is_a", "boat", scope="user:alice"),
        lambda: tool.execute(
            {"command": "insert", "path": "/memories/log.md", "insert_line": 1, "insert_text": name}
        ),
        lambda: memory.read(USER),
        lambda: memory.facts(scopes=SCOPES),
        lambda: memory.end_session(f"s{worker}", user="alice"),
    ]


def once_each(memory: VaultMemory) -> None:
    """Every turn, item, fact and line is there once, in the files and for search."""
    memory.edits.process_due()
    names = sorted(f"w{worker}r{number}" for worker in range(WORKERS) for number in range(ROUNDS))
    [transcript] = (memory.root / "Users/alice/transcripts").glob("*.jsonl")
    turns = list(read_turns(transcript.read_bytes()))

    assert sorted(turn.text.rpartition(" ")[2] for turn in turns) == names
    assert sorted(ends_of(memory, USER, "- cup ")) == names
    assert sorted(ends_of(memory, FACTS, "## boat ")) == names
    assert sorted(ends_of(memory, LOG, "w")) == [name[1:] for name in names]
    found = memory.search("puffin", scopes=SCOPES, kinds=["transcript"], limit=100).hits
    assert sorted(hit.text.rpartition(" ")[2] for hit in found) == names
    assert {fact.subject.removeprefix("boat ") for fact in memory.facts(scopes=SCOPES)} >= set(
        names
    )
    assert memory.status()["index"]["stale_files"] in (0, [])  # type: ignore[index]


def ends_of(memory: VaultMemory, note: str, start: str) -> list[str]:
    lines = Path(memory.root, note).read_text().splitlines()
    return [line.removeprefix(start).partition(" (")[0] for line in lines if line.startswith(start)]


@pytest.mark.sampled
def test_eight_threads_calling_everything_at_once_lose_and_repeat_nothing(memory):
    def work(worker: int) -> None:
        for number in range(ROUNDS):
            for call in calls(memory, worker, number):
                call()

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))

    once_each(memory)


@pytest.mark.sampled
def test_concurrent_asyncio_tasks_lose_and_repeat_nothing(memory):
    async def work(worker: int) -> None:
        for number in range(ROUNDS):
            await asyncio.gather(
                *(asyncio.to_thread(call) for call in calls(memory, worker, number)[:-1])
            )

    async def all_of_them() -> None:
        await asyncio.gather(*(work(worker) for worker in range(WORKERS)))

    asyncio.run(all_of_them())

    once_each(memory)
