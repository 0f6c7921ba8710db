"""Who saves and then asks at once: the answer has what was saved, or names the note as stale."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside, until, without_watches
from vault_memory.api.daemon_client import BEHIND, DaemonRefused, ask
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.service.daemon import Daemon
from vault_memory.service.upkeep.note_indexer import PathChange
from vault_memory.service.upkeep.waiting_clients import GRACE_SECONDS, Barrier

NOTES = ("MEMORY.md", "memory/a.md", "memory/b.md", "memory/2026/c.md", "memory/2026/deep/d.md")


def in_place(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def by_renaming(path: Path, text: str) -> Path:
    other = path.with_name(".saved")
    other.write_text(text)
    return other.replace(path)


def by_appending(path: Path, text: str) -> Path:
    with path.open("a") as file:
        file.write(text)
    return path


def in_two_writes(path: Path, text: str) -> Path:
    path.write_text(text[: len(text) // 2])
    return in_place(path, text)


def in_a_new_folder(path: Path, text: str) -> Path:
    folder = path.parent / "memory" / text.split()[1]
    folder.mkdir(parents=True)
    return in_place(folder / "e.md", text)


WAYS = (in_place, by_renaming, by_appending, in_two_writes, in_a_new_folder)


def save_and_ask(outside: Outside, search: Callable[[str], dict], *, seed: int, times: int) -> None:
    chance = random.Random(seed)
    for number in range(times):
        path = outside.vault / chance.choice(NOTES)
        path.parent.mkdir(parents=True, exist_ok=True)
        word = f"crane{seed}x{number}"
        saved = (
            chance.choice(WAYS)(path, f"- {word} at the weir\n")
            .relative_to(outside.vault)
            .as_posix()
        )

        answer = search(word)

        stale = answer["freshness"]["stale_files"]
        assert saved in {*stale, *(hit["note"] for hit in answer["hits"] if word in hit["text"])}, (
            number
        )
        for hit in answer["hits"]:
            assert (
                hit["note"] in stale
                or hit["text"].strip() in (outside.vault / hit["note"]).read_text()
            ), number


@pytest.mark.parametrize("seed", range(2))
def test_a_save_before_a_search_is_found_or_reported_as_stale(outside: Outside, seed: int):
    outside.write("USER.md", "- tea\n")
    with outside.daemon() as daemon:
        save_and_ask(
            outside,
            lambda word: daemon.search(word, scopes=["user:main", "group:main"]),
            seed=seed,
            times=60,
        )


@pytest.mark.sampled
def test_in_a_polled_vault_a_save_before_a_search_is_found_or_reported_as_stale(outside: Outside):
    outside.write("USER.md", "- tea\n")
    (outside.vault / "memory").mkdir()
    with outside.daemon(before=without_watches(), WATCH_POLL_SECONDS="60") as daemon:
        assert daemon.ask("status")["watcher"]["mode"] == "polling"
        save_and_ask(
            outside,
            lambda word: daemon.search(word, scopes=["user:main", "group:main"]),
            seed=3,
            times=20,
        )


@contextmanager
def daemon_here(outside: Outside, tell: Callable[[PathChange], None]) -> Iterator[Daemon]:
    """A daemon in a thread; what `tell` does keeps its loop from going on."""
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        daemon, ready = Daemon(memory, tell=tell), threading.Event()
        thread = threading.Thread(target=daemon.run, args=(ready.set,))
        thread.start()
        try:
            assert ready.wait(120)
            yield daemon
        finally:
            daemon.stop()
            daemon.watcher.wake()
            thread.join(30)


def slowly(change: PathChange) -> None:
    time.sleep(0.05)


@pytest.fixture
def patient_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, the daemon is waited for."""
    monkeypatch.setattr("vault_memory.service.upkeep.waiting_clients.PATIENCE_SECONDS", 30.0)


def search_here(outside: Outside) -> Callable[[str], dict]:
    def search(word: str) -> dict:
        return (
            ask(outside.socket, "search", {"query": word, "scopes": ["user:main", "group:main"]})
            or {}
        )

    return search


@pytest.mark.usefixtures("patient_barrier")
def test_a_search_waits_for_a_busy_daemon(outside: Outside):
    outside.write("USER.md", "- tea\n")
    with daemon_here(outside, slowly):
        save_and_ask(outside, search_here(outside), seed=4, times=20)


def test_this_test_detects_a_daemon_that_answers_without_waiting(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Barrier, "passed", lambda self: True)
    outside.write("USER.md", "- tea\n")
    with daemon_here(outside, slowly), pytest.raises(AssertionError):
        save_and_ask(outside, search_here(outside), seed=4, times=20)


def test_a_search_without_a_timely_daemon_reads_the_vault_itself(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("vault_memory.service.upkeep.waiting_clients.PATIENCE_SECONDS", 0.2)
    outside.write("USER.md", "- tea\n")
    held, go_on = threading.Event(), threading.Event()

    def block_indexing(change: PathChange) -> None:
        held.set()
        go_on.wait(120)

    with daemon_here(outside, block_indexing):
        outside.write("memory/a.md", "- a stork\n")
        assert held.wait(120)
        outside.write("memory/b.md", "- a crane\n")
        try:
            with pytest.raises(DaemonRefused) as refused:
                search_here(outside)("crane")
            answer = outside.search("crane")
        finally:
            go_on.set()

        assert refused.value.code == BEHIND
        assert [hit["text"] for hit in answer["hits"]] == ["- a crane"]
        assert answer["freshness"] == {
            "stale_files": [],
            "semantic": "off",
            "reason": "switched off in the configuration",
        }
        # On a busy machine the loop may need longer than that again.
        monkeypatch.setattr("vault_memory.service.upkeep.waiting_clients.PATIENCE_SECONDS", 30.0)
        until(lambda: search_here(outside)("crane")["hits"])


def test_a_note_that_is_written_continuously_delays_no_search(outside: Outside):
    outside.write("USER.md", "- tea\n")
    done = threading.Event()

    log = outside.write("memory/log.md", "")

    def write() -> None:
        with log.open("a", buffering=1) as file:
            while not done.wait(0.002):
                file.write("- on and on\n")

    with outside.daemon() as daemon:
        writer = threading.Thread(target=write)
        writer.start()
        try:
            seconds = []
            for _ in range(10):
                started = time.monotonic()
                assert daemon.search("tea", scopes=["user:main"])["hits"]
                seconds.append(time.monotonic() - started)
            # A barrier that waits for the note would hold up each of them, not the busiest one.
            assert min(seconds) < 5 * GRACE_SECONDS
        finally:
            done.set()
            writer.join()


def test_an_unreadable_note_is_reported_as_stale_and_delays_no_search(outside: Outside):
    outside.write("USER.md", "- tea\n")
    note = outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        note.unlink()
        note.symlink_to("/dev/full")
        until(
            lambda: (
                daemon.search("stork", scopes=["group:main"])["freshness"]["stale_files"]
                == ["memory/a.md"]
            )
        )
        seconds = []
        for _ in range(50):
            started = time.monotonic()
            daemon.search("tea", scopes=["user:main"])
            seconds.append(time.monotonic() - started)
        # A barrier that waits for the note would hold up each of them.
        assert min(seconds) < GRACE_SECONDS
