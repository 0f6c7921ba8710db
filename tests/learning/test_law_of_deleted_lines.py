"""What a person deleted comes back by no hand but a person's: in no note, no words, by no tool and no night."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.effort import cases, few
from vault_memory.api.vault_memory import VaultMemory

USER = "Users/alice/bot/config/USER.md"
FACTS = "Users/alice/bot/config/FACTS.md"
RULES = "Users/alice/bot/config/RULES.md"
MINE = "- a line of mine, long enough that the note is no half of a save\n"
NOON = datetime(2026, 5, 25, 12, tzinfo=UTC)
SAID = {"session": "s", "role": "user", "user": "alice"}
SCOPE = ["user:alice"]
NIGHTS = few(100)
DELETIONS = cases(100)


def open_vault(folder: Path, device: str) -> VaultMemory:
    environment = {
        **{name: value for name, value in os.environ.items() if "VAULT" not in name},
        "VAULT_MEMORY_STATE": str(folder / device),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
        "VAULT_MEMORY_BRAIN_KIND": "rules",
    }
    (folder / "vault").mkdir(exist_ok=True)
    return VaultMemory.open(folder / "vault", environment=environment)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    with open_vault(tmp_path, "laptop") as opened:
        yield opened


def notes_of(memory: VaultMemory) -> list[Path]:
    return [
        path
        for path in sorted(memory.root.rglob("*.md"))
        if "INBOX" not in path.name and "audit" not in path.name
    ]


def delete(memory: VaultMemory, words: str) -> None:
    """Take the lines with some words out, as a person does in an editor."""
    for path in notes_of(memory):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [MINE if words.casefold() in line.casefold() else line for line in lines]
        if kept != lines:
            path.write_text("".join(kept), encoding="utf-8")
            # The save has settled: an edit need not wait for it.
            os.utime(path, (0, 0))
    memory.index(embed=False)


def stands(memory: VaultMemory, words: str) -> list[str]:
    return [
        path.name
        for path in notes_of(memory)
        if words.casefold() in path.read_text(encoding="utf-8").casefold()
    ]


def by_tool(memory: VaultMemory, text: str) -> None:
    memory.record_turn(text=f"{text}.", **SAID)
    assert memory.remember(text, scope="user:alice").outcome == "added"


def by_night(memory: VaultMemory, text: str) -> None:
    memory.record_turn(text=f"Remember that {text}.", now=NOON, **SAID)
    memory.end_session("s", user="alice", now=NOON + timedelta(hours=1))
    memory.sleep(scopes=SCOPE, now=NOON + timedelta(hours=14))


def by_command(memory: VaultMemory, text: str) -> None:
    memory.remember(text, scope="user:alice", source="cli")


def in_a_dated_note(memory: VaultMemory, text: str) -> None:
    ops = [{"op": "add_heading", "heading": "Learned", "lines": [text]}]
    memory.apply("Users/alice/memories/2026-05-25.md", ops, source="tool")


WRITERS: tuple[Callable[[VaultMemory, str], None], ...] = (
    by_tool,
    by_night,
    by_command,
    in_a_dated_note,
)


@pytest.mark.sampled
@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    "again",
    [
        "I own a red sloop",
        "I own a red sloop.",
        "As I said, I own a red sloop",
        "I own a red sloop in the harbour",
        "Alice: I own a red sloop, too",
    ],
)
def test_a_tool_does_not_bring_back_what_a_person_deleted(
    memory: VaultMemory, write: Callable[[VaultMemory, str], None], again: str
):
    write(memory, "I own a red sloop")
    assert stands(memory, "red sloop")
    delete(memory, "red sloop")
    memory.record_turn(text=f"{again}.", **SAID)

    done = memory.remember(again, scope="user:alice", source="tool")

    assert (done.outcome, done.reason) == ("refused", "deleted_by_person")
    assert stands(memory, "red sloop") == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (("lives_in", "Bergen"), "Alice lives in Bergen"),
        (("lives_in", "Bergen"), "The user lives in Bergen"),
        (("allergic_to", "walnuts"), "Allergic to walnuts"),
        (("lives_in", "Bergen"), "Wohnt in Bergen"),
        (("likes", "кофе"), "Любит кофе"),
        (("lives_in", "卑尔根"), "我住在卑尔根"),
    ],
)
def test_a_sentence_and_a_fact_bury_each_other(
    memory: VaultMemory, fact: tuple[str, str], sentence: str
):
    predicate, object_ = fact
    memory.record_turn(text=f"{sentence}.", **SAID)
    memory.add_fact("alice", predicate, object_, scope="user:alice")
    delete(memory, object_)
    assert memory.remember(sentence, scope="user:alice").outcome == "refused"

    memory.remember(sentence, scope="user:alice", source="cli")
    memory.add_fact("alice", "owns", "a hen", scope="user:alice", source="cli")
    delete(memory, object_)
    memory.add_fact("alice", predicate, object_, scope="user:alice", source="tool")
    assert stands(memory, object_) == []


def test_a_fact_about_another_place_is_no_deleted_one(memory: VaultMemory):
    memory.add_fact("alice", "lives_in", "Bergen", scope="user:alice")
    delete(memory, "Bergen")

    for subject, home in (("bo", "Bath"), ("alice", "Bath")):
        added = memory.add_fact(subject, "lives_in", home, scope="user:alice")
        assert added.outcome == "added"


def test_what_a_person_deleted_is_no_line_of_another_scope(memory: VaultMemory):
    by_tool(memory, "I own a red sloop")
    delete(memory, "red sloop")
    memory.record_turn(text="I own a red sloop.", session="t", role="user", user="bob")

    done = memory.remember("I own a red sloop", scope="user:bob", source="tool")

    assert done.outcome == "added"


def test_the_memory_tool_does_not_bring_back_a_line_of_another_note(memory: VaultMemory):
    by_tool(memory, "I own a red sloop")
    delete(memory, "red sloop")
    tool = memory.memory_tool(user="alice", private=True)

    done = tool.execute(
        {
            "command": "create",
            "path": "/memories/boats.md",
            "file_text": "# Boats\n\n- I own a red sloop\n",
        }
    )

    assert done.is_error
    assert stands(memory, "red sloop") == []


def test_a_line_that_moved_to_another_note_is_not_deleted(memory: VaultMemory):
    by_tool(memory, "I own a red sloop")
    delete(memory, "red sloop")
    boats = memory.root / "Users/alice/memories/boats.md"
    boats.parent.mkdir(parents=True, exist_ok=True)
    boats.write_text("- I own a red sloop\n", encoding="utf-8")
    memory.index(embed=False)

    done = memory.remember("I own a red sloop", scope="user:alice", source="tool")

    assert done.outcome == "duplicate"


@pytest.mark.parametrize("write", [by_command, by_night])
def test_a_persons_own_words_bring_it_back(
    memory: VaultMemory, write: Callable[[VaultMemory, str], None]
):
    by_tool(memory, "I own a red sloop")
    delete(memory, "red sloop")

    write(memory, "I own a red sloop")

    assert stands(memory, "red sloop")


def test_a_rule_that_a_person_deleted_is_not_written_again_by_a_tool(memory: VaultMemory):
    rule = "Always answer in grams"
    memory.record_turn(text=f"{rule}.", **SAID)
    assert memory.remember(rule, scope="user:alice").outcome == "added"
    delete(memory, "grams")

    done = memory.remember("From now on, always answer in grams", scope="user:alice")

    assert done.outcome == "refused"
    assert stands(memory, "grams") == []


# ---- the law -------------------------------------------------------------------------------------

THINGS = "sloop kettle barometer lantern kayak piano loom telescope anvil beehive".split()
COLOURS = "red blue green amber black white grey brown pink gold".split()


def echo(memory: VaultMemory, thing: str, chance: random.Random, now: datetime) -> None:
    """What brings a line back where nothing hinders: the bot, others, and tools."""
    text = f"I own a {thing}"
    words = chance.choice(("{}", "As you said, {}", "{}, by the way", "User: {}"))
    role, more = chance.choice(
        (("assistant", {}), ("user", {"origin": "email"}), ("user", {"user": "bob"}), ("tool", {}))
    )
    turn = {**SAID, "session": f"{now:%j} {thing}", "role": role, **more}
    memory.record_turn(text=words.format(text), now=now, **turn)
    memory.remember(words.format(text), scope="user:alice", source="tool", now=now)
    memory.add_fact("alice", "owns", f"a {thing}", scope="user:alice", source="tool", now=now)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(2))
def test_nothing_that_a_person_deleted_comes_back(tmp_path: Path, seed: int):
    chance = random.Random(seed)
    things = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS][:DELETIONS]
    with ExitStack() as stack:
        devices = [stack.enter_context(open_vault(tmp_path, name)) for name in ("laptop", "phone")]
        first = devices[0]
        for number, thing in enumerate(things):
            if number % 2:
                by_command(first, f"I own a {thing}")
            else:
                first.add_fact("alice", "owns", f"a {thing}", scope="user:alice")
        for thing in things:
            delete(first, thing)
        for night in range(NIGHTS):
            now = NOON + timedelta(days=night)
            for device in devices:
                for thing in chance.sample(things, min(3, len(things))):
                    echo(device, thing, chance, now)
                device.sleep(scopes=SCOPE, now=now + timedelta(hours=14))

        back = {thing: stands(first, thing) for thing in things}
        assert not any(back.values()), back
