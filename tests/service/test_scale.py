"""What a daemon does for one note does not grow with the vault: calls are counted in a small and in a larger one."""

import collections
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import pytest

from tests.scenarios.outside import Outside, until
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.service.daemon import Daemon
from vault_memory.service.upkeep.conversation_upkeep import LOOK_SECONDS

SMALL, LARGER = 200, 2_000
SAVES = 5
MOST_SAVES = 25
"""Saves until one of them has cost no more than in the small vault"""
STEPS = 20
"""Of SQLite's machine between two counts"""
SYSTEM_CALLS = frozenset({"scandir", "stat", "lstat", "open"})


class Work:
    """What one thread does while `counting`."""

    def __init__(self) -> None:
        self.calls: collections.Counter[str] = collections.Counter()
        self.statements = 0
        self.thread = 0
        self.counting = False

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """For `sys.setprofile`."""
        if self.counting and event == "c_call":
            name = argument.__name__
            self.calls["calls"] += 1
            if name in SYSTEM_CALLS:
                self.calls[name] += 1

    def progress(self) -> bool:
        """For SQLite: some steps of its machine are done."""
        if self.counting and threading.get_ident() == self.thread:
            self.calls["steps of SQLite"] += STEPS
        return False

    def listdir(self, list_names: Callable[[Any], list[Any]], folder: Any) -> list[Any]:
        """`os.listdir`, whose names are counted: each of them is looked at."""
        names = list_names(folder)
        if self.counting and threading.get_ident() == self.thread:
            self.calls["names listed"] += len(names)
        return names


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    counter = Work()
    hooks = [
        *apsw.connection_hooks,
        lambda connection: connection.set_progress_handler(counter.progress, STEPS),
    ]
    monkeypatch.setattr(apsw, "connection_hooks", hooks)
    monkeypatch.setattr(os, "listdir", functools.partial(counter.listdir, os.listdir))
    return counter


def has_caught_up(daemon: Daemon) -> bool:
    """Waits as a question does."""
    return daemon._vault.upkeep.barrier.passed()


@contextmanager
def running_daemon(outside: Outside, work: Work) -> Iterator[Daemon]:
    """A daemon in a thread of this process, once it has caught up with the vault."""
    memory = VaultMemory.open(outside.vault, environment=outside.environment)
    daemon = Daemon(memory, tell=lambda change: None)
    ready = threading.Event()

    def loop() -> None:
        work.thread = threading.get_ident()
        sys.setprofile(work.profile)
        daemon.run(ready=ready.set)

    thread = threading.Thread(target=loop, name="loop")
    thread.start()
    try:
        assert ready.wait(120)
        until(lambda: not memory.edits.notes_without_snapshot() and has_caught_up(daemon))
        yield daemon
    finally:
        daemon.stop()
        thread.join()
        memory.close()


def furnish(outside: Outside, notes: int) -> list[Path]:
    return [
        outside.write(f"memory/note-{number:04}.md", f"- note number {number}\n")
        for number in range(notes)
    ]


def work_of(
    outside: Outside,
    work: Work,
    act: Callable[[int], object],
    small: collections.Counter[str] | None = None,
) -> collections.Counter[str]:
    """The least of each count over some acts, once a daemon runs and until all it changed is kept.

    What grows with the vault is in each act. On a busy machine the loop turns more often during
    some of them, and more acts are tried until the counts are like those of the `small` vault.
    """
    with (
        running_daemon(outside, work) as daemon,
        VaultMemory.open(outside.vault, environment=outside.environment) as other,
    ):
        act(-1)
        until(lambda: has_caught_up(daemon) and not other.edits.notes_without_snapshot())
        least: collections.Counter[str] = collections.Counter()
        for number in range(SAVES if small is None else MOST_SAVES):
            work.calls = collections.Counter()
            work.counting = True
            act(number)
            until(lambda: has_caught_up(daemon) and not other.edits.notes_without_snapshot())
            work.counting = False
            cost = work.calls
            least = least & cost if number else cost
            if small is not None and not unlike(small, least):
                break
    return least


def unlike(small: collections.Counter[str], larger: collections.Counter[str]) -> list[str]:
    """What is counted more often in the vault that has ten times the notes.

    The loop turns a little more or less often in each run.
    """
    return [name for name in {*small, *larger} if larger[name] > 1.5 * small[name] + 15]


def assert_alike(small: collections.Counter[str], larger: collections.Counter[str]) -> None:
    assert small["calls"] > 100, "nothing was counted"
    assert not unlike(small, larger), (small, larger)


@pytest.mark.sampled
@pytest.mark.parametrize("by_rename", [True, False], ids=["by rename", "in place"])
def test_a_save_costs_the_same_in_a_larger_vault(outside: Outside, work: Work, by_rename: bool):
    found: dict[int, collections.Counter[str]] = {}
    for notes in (SMALL, LARGER):
        paths = furnish(outside, notes)

        def save(number: int, paths: list[Path] = paths) -> None:
            path = paths[number]
            text = path.read_text() + f"- saved as number {number}\n"
            if by_rename:
                fresh = path.with_name("fresh.tmp")
                fresh.write_text(text)
                fresh.rename(path)
            else:
                path.write_text(text)

        found[notes] = work_of(outside, work, save, found.get(SMALL))
    assert_alike(found[SMALL], found[LARGER])


@pytest.mark.sampled
def test_a_note_in_a_new_folder_costs_the_same_in_a_larger_vault(outside: Outside, work: Work):
    found: dict[int, collections.Counter[str]] = {}
    for notes in (SMALL, LARGER):
        furnish(outside, notes)
        found[notes] = work_of(
            outside,
            work,
            lambda number, notes=notes: outside.write(
                f"memory/{notes}-{number}/day.md", "- said\n"
            ),
            found.get(SMALL),
        )
    assert_alike(found[SMALL], found[LARGER])


def test_an_idle_daemon_does_not_list_folders_several_times_a_second(outside: Outside, work: Work):
    furnish(outside, 5)
    with running_daemon(outside, work):
        work.counting = True
        threading.Event().wait(4 * LOOK_SECONDS)
        idle = work.calls["scandir"]
        outside.write("memory/new/day.md", "- said\n")
        until(
            lambda: work.calls["scandir"] > idle and work.calls["calls"] > 10
        )  # the counter works
        work.counting = False
    assert idle <= 2
