"""Hostile notes beside a running daemon: nobody else waits for them, and nothing of them stays behind."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.index_dump import dump, rows
from tests.scenarios.outside import Outside, Running, until

TINY = b"- b\n" * 262_000
REFERENCES = b"".join(b"[r%d]: /u\n" % number for number in range(50_000))
BULLETS = b"".join(b"- b%d\n" % number for number in range(100_000))
HOSTILE = {"tiny": TINY, "references": REFERENCES, "bullets": BULLETS}


def write_by_rename(outside: Outside, note: str, raw: bytes) -> None:
    """Save by rename, so that the daemon sees the whole note at once."""
    path = outside.vault / note
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(".fresh")
    fresh.write_bytes(raw)
    os.replace(fresh, path)


def workers(daemon: Running) -> list[int]:
    """The processes that the daemon has started."""
    found: list[int] = []
    for task in Path(f"/proc/{daemon.pid}/task").iterdir():
        # A thread of the daemon may end between the listing and the read.
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, (task / "children").read_text().split())
    return found


def search_as_main(daemon: Running, query: str) -> dict[str, Any]:
    return daemon.search(query, scopes=["user:main"])


def memory_of(daemon: Running) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )


@pytest.mark.sampled
@pytest.mark.parametrize("name", HOSTILE)
def test_another_note_is_searchable_before_a_hostile_note_is_parsed(
    outside: Outside, name: str
) -> None:
    outside.write("USER.md", "- green tea\n")
    with outside.daemon() as daemon:
        daemon.until_found("green tea")
        write_by_rename(outside, "memory/hostile.md", HOSTILE[name])
        until(
            lambda: (
                "memory/hostile.md" in search_as_main(daemon, "tea")["freshness"]["stale_files"]
            ),
            pause=0.001,
        )
        outside.write("USER.md", "- white tea\n")

        found = until(lambda: (one := search_as_main(daemon, "white"))["hits"] and one, pause=0.001)

        assert found["freshness"]["stale_files"] == ["memory/hostile.md"], "it was still being read"
        until(lambda: not search_as_main(daemon, "tea")["freshness"]["stale_files"])
        (outside.vault / "memory/hostile.md").unlink()
        until(lambda: daemon.ask("status")["index"]["notes"] == 1)
        assert rows(outside.state, "SELECT count(*) FROM chunk") == [(1,)]


def test_a_hostile_note_that_becomes_small_is_found_with_its_new_text(outside: Outside) -> None:
    outside.write("memory/hostile.md", BULLETS)
    with outside.daemon() as daemon:
        until(lambda: daemon.ask("status")["index"]["chunks"] > 2000)
        write_by_rename(outside, "memory/hostile.md", b"- a stork in the reeds\n")
        daemon.until_found("stork in the reeds")
        until(lambda: daemon.ask("status")["index"]["chunks"] == 1)
        until(lambda: not daemon.stale())


@pytest.mark.sampled
def test_a_hostile_note_deleted_while_being_parsed_does_not_come_back(outside: Outside) -> None:
    outside.write("USER.md", "- green tea\n")
    with outside.daemon() as daemon:
        write_by_rename(outside, "memory/hostile.md", TINY)
        until(lambda: workers(daemon), pause=0.001)
        (outside.vault / "memory/hostile.md").unlink()
        until(lambda: not search_as_main(daemon, "tea")["freshness"]["stale_files"])
        write_by_rename(
            outside, "memory/second.md", REFERENCES
        )  # the worker is done with the first one when this is in
        # The worker parses both notes, which takes long on a busy machine.
        until(
            lambda: daemon.ask("status")["index"]["notes"] == 2 and not daemon.stale(), seconds=240
        )

        assert rows(outside.state, "SELECT path FROM note ORDER BY path") == [
            ("USER.md",),
            ("memory/second.md",),
        ]


@pytest.mark.sampled
def test_the_daemon_stops_soon_while_hostile_notes_are_parsed(outside: Outside) -> None:
    outside.quick = True
    outside.write("USER.md", "- green tea\n")
    with outside.daemon() as daemon:
        for number in range(20):
            write_by_rename(outside, f"memory/hostile{number}.md", TINY + b"- n%d\n" % number)
        until(lambda: workers(daemon), pause=0.001)

        code, _ = daemon.stop()

        assert code == 0
        read = rows(outside.state, "SELECT path FROM note")
        assert len(read) < 21, "it read them all first"
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers_left(daemon))
    for number in range(2, 20):
        (outside.vault / f"memory/hostile{number}.md").unlink()
    outside.ok("index", "--no-embed")
    stepwise = dump(outside.state)
    outside.ok("index", "--no-embed", "--rebuild")
    assert dump(outside.state) == stepwise


def workers_left(daemon: Running) -> list[int]:
    """Processes of the worker's module whose parent was the daemon, or is nobody now."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"vault_memory.ingest.worker" in command and parent in (1, daemon.pid):
            found.append(int(process.name))
    return found


@pytest.mark.sampled
def test_memory_is_released_after_hostile_notes(outside: Outside) -> None:
    outside.write("USER.md", "- green tea\n")
    with outside.daemon() as daemon:
        daemon.until_found("green tea")
        before = memory_of(daemon)
        for number, raw in enumerate(HOSTILE.values()):
            write_by_rename(outside, f"memory/hostile{number}.md", raw)
        until(
            lambda: daemon.ask("status")["index"]["notes"] == 4 and not daemon.stale(), seconds=240
        )
        for number in range(len(HOSTILE)):
            (outside.vault / f"memory/hostile{number}.md").unlink()
        until(lambda: daemon.ask("status")["index"]["notes"] == 1)
        until(lambda: not workers(daemon), says="the worker ends when it has nothing to do")

        assert memory_of(daemon) - before < 64 << 20


def test_a_note_that_crashes_the_worker_is_parked_with_the_reason_until_it_changes(
    outside: Outside,
) -> None:
    outside.write("USER.md", "- green tea\n")
    with outside.daemon() as daemon:
        write_by_rename(outside, "memory/hostile.md", TINY)
        [worker] = until(lambda: workers(daemon), pause=0.001)
        os.kill(worker, signal.SIGKILL)
        parked = daemon.until_status(lambda status: bool(status["index"]["parked"]))["index"][
            "parked"
        ]
        assert "to read" in parked["memory/hostile.md"]
        outside.write("memory/good.md", "- a stork\n")
        daemon.until_found("stork")

        write_by_rename(outside, "memory/hostile.md", BULLETS)
        daemon.until_status(
            lambda status: not status["index"]["parked"] and status["index"]["notes"] == 3
        )
