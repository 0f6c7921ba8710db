"""The upkeep of a vault without a daemon: its owner brings the hints and the threads."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.ingest.note import forget_note
from vault_memory.service.upkeep.note_indexer import PathChange
from vault_memory.service.upkeep.vault_upkeep import UpkeepOwner, VaultUpkeep
from vault_memory.vault.watch.change_queue import ChangeHints
from vault_memory.vault.watch.watcher import Watcher

PATIENCE_SECONDS = 120.0


class Owner:
    """Opens a vault, watches it and takes its turns, in the thread that asks."""

    def __init__(self, vault: Path, environment: dict[str, str]) -> None:
        self.memory = VaultMemory.open(vault, environment=environment)
        self.changes: list[PathChange] = []
        self.hints = 0
        """How often something in the vault may have changed"""
        self.watcher = Watcher(vault, self.memory.vault.config.watch)
        self.watcher.start()
        owner = UpkeepOwner(tell=self.changes.append, note_change=self._count)
        self.upkeep = VaultUpkeep(self.memory, self.watcher, owner)
        self.upkeep.begin()

    def _count(self) -> None:
        self.hints += 1

    def turn(self) -> None:
        self.upkeep.upkeep_turn(self.watcher.take(min(0.1, self.upkeep.wait())))

    def turns_until(
        self, is_done: Callable[[], bool], turn: Callable[[], None] | None = None
    ) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_done():
            assert time.monotonic() < deadline
            (turn or self.turn)()

    def finds(self, word: str) -> bool:
        answer = self.memory.search(word, scopes=["user:main", "group:main"], refresh=False)
        return any(word in hit.text for hit in answer.hits)

    def close(self) -> None:
        self.upkeep.close()
        self.watcher.stop()
        self.memory.close()


@pytest.fixture
def owner(outside: Outside) -> Iterator[Owner]:
    outside.write("USER.md", "- green tea\n")
    owner = Owner(outside.vault, outside.environment)
    yield owner
    owner.close()


def test_a_save_is_found_after_a_turn_and_its_deletion_after_it_settled(
    outside: Outside, owner: Owner
):
    assert owner.finds("green tea")
    owner.turns_until(lambda: owner.watcher.mode == "inotify" and owner.turn() is None)

    note = outside.write("memory/a.md", "- the boathouse is locked\n")
    owner.turns_until(lambda: owner.finds("boathouse"))
    assert [change.note for change in owner.changes][-1] == "memory/a.md"
    assert owner.hints

    note.unlink()
    owner.turns_until(lambda: not owner.finds("boathouse"))


@pytest.mark.scenario("G118")
def test_a_new_generation_is_scanned_although_a_folder_is_to_be_listed_too(
    outside: Outside, owner: Owner
):
    outside.write("groups/x/MEMORY.md", "- the weir is closed\n")
    outside.write("memory/a.md", "- the boathouse is locked\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as other:
        index = other.vault.indexing.build(anyway=True)[0]
        # As if the note had been saved right after the build had read its folder.
        forget_note(index, "memory/a.md")
        index.close()

    owner.upkeep.upkeep_turn(ChangeHints(subtrees=frozenset({"groups"})))

    assert owner.finds("boathouse")


def test_turns_start_no_thread_and_may_be_taken_by_any_thread(outside: Outside, owner: Owner):
    before = set(threading.enumerate())
    with ThreadPoolExecutor(4) as pool:
        pool_threads: set[str] = set()

        def turn_elsewhere() -> None:
            pool_threads.add(
                pool.submit(lambda: (owner.turn(), threading.current_thread().name)[1]).result()
            )

        for number in range(8):
            # The pool gives a turn to another thread when the first one is busy.
            blocker = pool.submit(time.sleep, 0.05)
            outside.write(f"memory/{number}.md", f"- crane{number} at the weir\n")
            owner.turns_until(lambda number=number: owner.finds(f"crane{number}"), turn_elsewhere)
            blocker.result()
        assert len(pool_threads) > 1
    assert set(threading.enumerate()) == before


def test_dropped_turns_are_recorded_when_the_owner_says_so(owner: Owner):
    owner.turns_until(lambda: owner.upkeep._conversation_upkeep.wait() > 1)
    drop_folder = owner.memory.conversations.drop_folder.make()
    dropped = {
        "session": "s",
        "role": "user",
        "user": "ann",
        "source": "email",
        "text": "I like plums",
    }
    file = drop_folder / "bot.jsonl"
    file.write_text(json.dumps(dropped) + "\n")
    for _ in range(5):
        owner.turn()
    assert file.exists()

    owner.upkeep.look_soon()
    owner.turns_until(lambda: not file.exists())
    turns = owner.memory.conversations.transcripts.of("user:ann")
    assert [turn.text for turn in turns] == ["I like plums"]


def test_a_vault_that_disappears_is_trouble_and_is_read_again_when_it_is_back(
    outside: Outside, owner: Owner
):
    owner.turn()
    elsewhere = outside.vault.with_name("elsewhere")
    outside.vault.rename(elsewhere)
    owner.turns_until(lambda: bool(owner.upkeep.trouble))
    assert not owner.upkeep.status()["healthy"]
    assert owner.upkeep.wait() <= 1.0
    assert owner.finds("green tea")

    shutil.move(elsewhere, outside.vault)
    outside.write("memory/b.md", "- back from the yard\n")
    owner.turns_until(lambda: not owner.upkeep.trouble)
    owner.turns_until(lambda: owner.finds("yard"))


def test_a_question_waits_until_a_turn_has_read_the_save_before_it(outside: Outside, owner: Owner):
    owner.turn()
    outside.write("memory/c.md", "- the ferry leaves on Tuesdays\n")
    with ThreadPoolExecutor(1) as pool:
        passed = pool.submit(owner.upkeep.barrier.passed)
        owner.turns_until(passed.done)
        assert passed.result()
    assert owner.finds("ferry")


def test_an_index_that_another_process_built_again_is_scanned(outside: Outside, owner: Owner):
    owner.turns_until(lambda: not owner.upkeep._notes.is_busy and owner.turn() is None)
    outside.ok("index", "--rebuild")
    # A save that raised no event, such as one during the build.
    path = outside.vault / "memory/f.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("- the moor is closed\n")
    owner.upkeep.upkeep_turn(ChangeHints())
    owner.turns_until(lambda: owner.finds("moor"), lambda: owner.upkeep.upkeep_turn(ChangeHints()))


@pytest.mark.sampled
def test_a_large_note_is_read_beside_the_turns(outside: Outside, owner: Owner):
    owner.turns_until(lambda: not owner.upkeep._notes.is_busy and owner.turn() is None)
    outside.write("memory/large.md", "- b\n" * 60_000 + "- a wheelbarrow\n")
    owner.turns_until(lambda: bool(owner.upkeep._notes.unread()))
    outside.write("memory/sub/g.md", "- in a new folder\n")
    owner.turns_until(lambda: owner.finds("wheelbarrow"))


def test_an_interrupted_first_scan_is_completed_by_the_next_upkeep(outside: Outside):
    class Interrupted(Exception):
        pass

    def interrupt(completed: int, total: int) -> None:
        raise Interrupted

    for number in range(40):
        outside.write(f"memory/{number}.md", f"- heron{number} on the dyke\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        watcher = Watcher(outside.vault)
        upkeep = VaultUpkeep(memory, watcher, UpkeepOwner(progress=interrupt))
        with pytest.raises(Interrupted):
            upkeep.begin()
        upkeep.close()

    owner = Owner(outside.vault, outside.environment)
    try:
        assert owner.finds("heron39")
    finally:
        owner.close()
