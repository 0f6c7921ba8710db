"""Whatever happens to the files, the index follows: bursts, folders, moves, odd times, a vault that goes away."""

import mmap
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.index_dump import dump, rows, states
from tests.scenarios.outside import Outside, Running, until, without_watches
from vault_memory.api.daemon_client import ask

MANY = 6_000
"""Files with three events each overflow a queue of 16,384"""


def count(outside: Outside, *, state: int | None = None) -> int:
    where = "" if state is None else f" WHERE state = {state}"
    return int(rows(outside.state, "SELECT count(*) FROM note" + where)[0][0])


@pytest.mark.sampled
@pytest.mark.scenario("C52")
def test_a_burst_that_overflows_the_queue_is_indexed_to_the_last_file(outside: Outside):
    (outside.vault / "memory").mkdir()
    with outside.daemon() as daemon:
        daemon.freeze()
        for number in range(MANY):
            (outside.vault / "memory" / f"n{number}.md").write_text(
                f"- line {number} about herons\n"
            )
        os.kill(daemon.pid, signal.SIGCONT)

        until(lambda: count(outside) == MANY, seconds=60, pause=0.1, says=lambda: count(outside))
        assert (
            daemon.search(f"line {MANY - 1}")["hits"][0]["text"]
            == f"- line {MANY - 1} about herons"
        )


@pytest.mark.sampled
@pytest.mark.scenario("C64", "C73")
def test_thousands_of_files_deleted_and_rewritten_at_once_are_not_removed(outside: Outside):
    notes = [
        outside.write(f"memory/d{number // 500}/n{number}.md", f"- line {number}\n")
        for number in range(5_000)
    ]
    outside.ok("index")
    before = rows(outside.state, "SELECT id, path FROM note")
    downloaded = outside.home / "downloaded"
    downloaded.mkdir()
    for number in range(5_000):
        (downloaded / str(number)).write_text(f"- line {number}\n")
    with outside.daemon() as daemon:
        started = time.monotonic()
        for note in notes:
            note.unlink()
        for number, note in enumerate(notes):
            os.rename(downloaded / str(number), note)
        seconds = time.monotonic() - started

        daemon.until_status(lambda status: not status["index"]["stale_files"], seconds=60)
        until(
            lambda: set(states(outside.state).values()) == {1},
            seconds=60,
            pause=0.1,
            says="not all settled",
        )
    assert count(outside) == 5_000
    if seconds > 2:
        pytest.skip(f"this took {seconds:.1f} s here, longer than a delete is doubted")
    assert not any("removed" in line for line in daemon.lines)
    assert rows(outside.state, "SELECT id, path FROM note") == before, (
        "no note was forgotten and read anew"
    )


@pytest.mark.scenario("C54")
def test_a_file_in_just_created_folders_is_found(outside: Outside):
    with outside.daemon() as daemon:
        for number in range(20):
            outside.write(f"memory/{number}/b/c/d/n.md", f"- quail number q{number}q\n")

        for number in range(20):
            daemon.until_found(f"q{number}q", seconds=10)


@pytest.mark.scenario("C55")
def test_a_folder_moved_in_is_found_and_one_moved_out_is_dropped_after_the_grace_period(
    outside: Outside,
):
    elsewhere = outside.home / "birds"
    for number in range(50):
        (elsewhere / "deep").mkdir(parents=True, exist_ok=True)
        (elsewhere / "deep" / f"{number}.md").write_text(f"- quail number q{number}q\n")
    outside.write("memory/stays.md", "- a stork\n")
    with outside.daemon() as daemon:
        elsewhere.rename(outside.vault / "memory" / "birds")
        daemon.until_found("q49q")
        until(lambda: count(outside) == 51, says=lambda: count(outside))

        (outside.vault / "memory" / "birds").rename(elsewhere)
        until(lambda: len(daemon.stale()) == 50, says=daemon.stale)
        assert daemon.finds("q49q"), "held, and named as stale"
        until(lambda: count(outside) == 1, says=lambda: count(outside))
        assert not daemon.finds("q49q")
        assert daemon.stale() == []
        assert daemon.finds("stork")


@pytest.mark.scenario("G117", "A3", "F106")
def test_a_deleted_or_emptied_note_is_stale_until_the_deletion_is_accepted(outside: Outside):
    deleted = outside.write("memory/a.md", "- a stork\n")
    emptied = outside.write("memory/b.md", "- a crane\n")
    outside.write("memory/d/a.md", "- a heron\n")
    outside.write("memory/d/b.md", "- an owl\n")
    with outside.daemon() as daemon:
        deleted.unlink()
        emptied.write_text("")
        shutil.rmtree(outside.vault / "memory" / "d")
        outside.write("memory/d/b.md", "- an owl and a quail\n")

        held = ["memory/a.md", "memory/b.md", "memory/d/a.md"]
        until(lambda: daemon.stale() == held, says=daemon.stale)
        for bird, note in zip(("stork", "crane", "heron"), held, strict=True):
            answer = daemon.search(bird)
            assert not answer["hits"] or note in answer["freshness"]["stale_files"]
        daemon.until_found("quail")
        for bird in ("stork", "crane", "heron"):
            daemon.until_gone(bird)
        assert daemon.stale() == []
        assert daemon.finds("quail")
        assert count(outside) == 2, "an empty note is a note"


@pytest.mark.sampled
@pytest.mark.scenario("A3", "A4")
def test_a_truncated_note_is_searchable_at_once_and_settles_late(outside: Outside):
    text = "".join(f"- line {number} about bird b{number}b\n" for number in range(100))
    note = outside.write("memory/a.md", text)
    outside.ok("index")
    with outside.daemon() as daemon:
        outside.write("memory/b.md", "- it has begun to watch\n")
        daemon.until_found("begun to watch")
        until(lambda: states(outside.state)["memory/a.md"] == 1, says="never settled")
        started = time.monotonic()
        note.write_text(text[: len(text) // 4])
        daemon.until_gone("b99b")
        until(lambda: states(outside.state)["memory/a.md"] == 1, says="never settled")

        assert time.monotonic() - started > 2.5, "half a save was believed at once"

        note.write_text(text)
        daemon.until_found("b99b")


@pytest.mark.scenario("A3")
def test_a_note_emptied_and_rewritten_never_counts_as_deleted(outside: Outside):
    note = outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        note.write_text("")
        until(lambda: daemon.stale() == ["memory/a.md"], says=daemon.stale)
        note.write_text("- a stork\n- a crane\n")

        daemon.until_found("crane", seconds=2.5)
        assert daemon.finds("stork")
        until(lambda: daemon.stale() == [], says=daemon.stale)


@pytest.mark.scenario("C56")
def test_a_vault_replaced_by_its_copy_keeps_working(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    outside.write("memory/b.md", "- a crane\n")
    with outside.daemon() as daemon:
        outside.vault.rename(outside.home / "old")
        (outside.home / "old" / "memory" / "b.md").unlink()
        shutil.copytree(outside.home / "old", outside.vault)
        outside.write("memory/c.md", "- a heron\n")

        daemon.until_found("heron")
        assert daemon.finds("stork")
        daemon.until_gone("crane")
        daemon.until_status(lambda status: status["watcher"]["healthy"])
        outside.write("memory/d.md", "- a quail\n")
        daemon.until_found("quail", seconds=4)


@pytest.mark.scenario("C56", "C57")
def test_another_folder_in_place_of_the_vault_deletes_nothing(outside: Outside):
    """First the empty mount point, then a folder without a marker, then one with the marker of another vault."""
    outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        peeking = Peeking(outside.home / "state")
        outside.vault.rename(outside.home / "old")
        outside.vault.mkdir()

        peeking.until_unhealthy()
        started = time.monotonic()
        while (seconds := time.monotonic() - started) < 4:
            if seconds > 1:
                outside.write("memory/x.md", "- a vulture\n")
            if seconds > 2:
                outside.write(".vault-memory", '{"vault": "' + "0" * 32 + '", "format": 1}')
            assert (peeking.hits("stork"), peeking.hits("vulture")) == (1, 0)
            time.sleep(0.2)

        shutil.rmtree(outside.vault)
        (outside.home / "old").rename(outside.vault)
        outside.write("memory/b.md", "- a crane\n")
        daemon.until_found("crane")
        assert daemon.finds("stork")
        daemon.until_status(lambda status: status["watcher"]["healthy"])


@pytest.mark.scenario("C57")
def test_a_vault_emptied_together_with_its_marker_deletes_nothing(outside: Outside):
    """Without folders, whose going would have everything looked at."""
    outside.write("MEMORY.md", "- a stork\n")
    outside.write("USER.md", "- a heron\n")
    with outside.daemon() as daemon:
        outside.write("USER.md", "- a heron, and it is being watched\n")
        daemon.until_found("being watched")
        peeking = Peeking(outside.home / "state")
        away = outside.home / "away"
        away.mkdir()
        for entry in list(outside.vault.iterdir()):
            entry.rename(away / entry.name)

        peeking.until_unhealthy()
        started = time.monotonic()
        while time.monotonic() - started < 2:
            assert (peeking.hits("stork"), peeking.hits("heron")) == (1, 1)
            time.sleep(0.2)
        assert peeking.search("stork")["freshness"]["stale_files"] == ["MEMORY.md"]

        for entry in list(away.iterdir()):
            entry.rename(outside.vault / entry.name)
        outside.write("memory/b.md", "- a crane\n")
        daemon.until_found("crane")
        daemon.until_status(
            lambda status: status["watcher"]["healthy"] and not status["index"]["stale_files"]
        )
        assert len(dump(outside.state)["notes"]) == 3


@pytest.mark.scenario("C57")
def test_no_command_takes_an_empty_mount_point_for_a_new_vault(outside: Outside):
    outside.quick = True
    outside.write("memory/a.md", "- a stork\n")
    # Twice: a folder that was only read has no marker yet, and the second one has.
    for first in ("search", "index"):
        outside.run(first, *(["stork"] if first == "search" else []))
        outside.vault.rename(outside.home / "away")
        outside.vault.mkdir()

        for command in (["search", "stork"], ["index"], ["notes"], ["status"], ["run"]):
            done = outside.run(*command, "--json")
            assert done.code == 4
            assert "not mounted" in done.error["message"]
        assert list(outside.vault.iterdir()) == []

        outside.vault.rmdir()
        (outside.home / "away").rename(outside.vault)
        assert outside.finds("stork")

    (outside.vault / ".vault-memory").unlink()
    assert "init" in outside.run("search", "stork", "--json").error["hint"]
    outside.ok("init", str(outside.vault))
    assert outside.finds("stork")


class Peeking:
    """The daemon seen over its socket alone, for when the vault and its marker are away."""

    def __init__(self, states: Path) -> None:
        [self._socket] = states.glob("*/daemon.sock")

    def search(self, text: str) -> dict[str, Any]:
        scopes = ask(self._socket, "scopes", {})
        assert scopes is not None
        answer = ask(self._socket, "search", {"query": text, "scopes": scopes["scopes"]})
        assert answer is not None
        return answer

    def hits(self, text: str) -> int:
        return len(self.search(text)["hits"])

    def until_unhealthy(self) -> None:
        until(lambda: not self._watcher()["healthy"], pause=0.05, says=self._watcher)
        assert self._watcher()["reason"]

    def _watcher(self) -> dict[str, object]:
        status = ask(self._socket, "status", {})
        assert status is not None
        return dict(status["watcher"])


@pytest.mark.scenario("C60")
def test_an_edit_of_the_same_size_in_the_same_second_is_found(outside: Outside):
    note = outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        for number in range(10):
            before = note.stat()
            note.write_text(f"- bird {number}\n")
            os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
            daemon.until_found(f"bird {number}", seconds=5)


@pytest.mark.scenario("C60", "C61")
def test_without_a_daemon_an_edit_of_the_same_size_and_time_is_found(outside: Outside):
    note = outside.write("memory/a.md", "- a stork\n")
    assert outside.finds("stork")
    for bird in ("crane", "heron", "quail"):
        before = note.stat()
        note.write_text(f"- a {bird}\n")
        os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert outside.finds(bird)


@pytest.mark.scenario("C61")
def test_a_file_unpacked_with_an_old_mtime_is_found(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        new = outside.home / "n.md"
        new.write_text("- a crane\n")
        os.utime(new, (0, 0))
        shutil.copy2(new, outside.vault / "memory" / "a.md")
        daemon.until_found("crane", seconds=5)
        new.write_text("- a quail\n")
        os.utime(new, (0, 0))
        new.rename(outside.vault / "memory" / "a.md")
        daemon.until_found("quail", seconds=5)


@pytest.mark.scenario("C62")
def test_a_write_through_a_memory_map_is_found_by_the_sweep(outside: Outside):
    note = outside.write("memory/a.md", "- a stork\n")
    with outside.daemon(WATCH_SWEEP_SECONDS="0.5") as daemon:
        with note.open("r+b") as file:
            mapped = mmap.mmap(file.fileno(), 0)
        mapped[4:9] = b"crane"
        mapped.flush()

        daemon.until_found("crane")
        mapped.close()


@pytest.mark.sampled
@pytest.mark.scenario("C53", "C63", "C65")
def test_without_inotify_watches_the_daemon_polls_and_reports_it(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    with outside.daemon(before=without_watches(), WATCH_POLL_SECONDS="0.5") as daemon:
        watcher = daemon.ask("status")["watcher"]
        assert watcher["mode"] == "polling"
        assert not watcher["healthy"]
        assert "limit" in watcher["reason"]

        outside.write("memory/b.md", "- a crane\n")
        daemon.until_found("crane")
        outside.write("memory/a.md", "- a quail\n")
        daemon.until_found("quail")


@pytest.mark.scenario("F112")
def test_turning_into_a_conflict_copy_or_growing_too_large_deletes_no_other_note(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    outside.write("memory/b.md", "- a crane\n")
    large = outside.write("memory/c.md", b"x " * (1 << 20))
    with outside.daemon() as daemon:
        outside.write("memory/a.md", b"- a stork\n" + b"x " * (1 << 20))
        large.unlink()
        (outside.vault / "memory" / "b.md").rename(
            outside.vault / "memory" / "b (conflicted copy 2026-01-01 101010).md"
        )

        daemon.until_status(lambda status: "memory/a.md" in status["index"]["parked"])
        daemon.until_gone("crane")
        outside.write("memory/a.md", "- a stork again\n")
        daemon.until_found("stork again")
        daemon.until_status(lambda status: not status["index"]["parked"])


@pytest.mark.scenario("F108", "F109")
def test_clashing_and_awkward_names_are_all_found(outside: Outside):
    names = [
        "Tee.md",
        "tee.md",
        "caf\u00e9.md",
        "cafe\u0301.md",
        "CON.md",
        "a:b.md",
        "end. .md",
        "🦉.md",
        "n" * 252 + ".md",
    ]
    with outside.daemon() as daemon:
        for number, name in enumerate(names):
            outside.write(f"memory/{name}", f"- owl number o{number}o\n")

        for number in range(len(names)):
            daemon.until_found(f"o{number}o", seconds=10)
    assert {note["note"] for note in outside.ok("notes")["notes"]} == {
        f"memory/{name}" for name in names
    }
    assert any(
        check["name"] == "names" and check["state"] == "warn"
        for check in outside.ok("doctor")["checks"]
    )


@pytest.mark.scenario("F109")
def test_names_that_cannot_be_indexed_are_reported_and_do_no_harm(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    for name in (b"line\nbreak.md", b"not-utf8-\xff.md", b"back\\slash.md"):
        Path(os.fsdecode(os.fsencode(outside.vault / "memory") + b"/" + name)).write_text(
            "- a crane\n"
        )

    assert outside.finds("stork")
    assert not outside.finds("crane")
    reasons = [
        check["reason"] for check in outside.ok("doctor")["checks"] if check["name"] == "names"
    ]
    assert len(reasons) == 3


@pytest.mark.scenario("F107")
def test_a_file_can_become_a_folder_and_a_file_again(outside: Outside):
    note = outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        note.unlink()
        outside.write("memory/a.md/b.md", "- a crane\n")
        daemon.until_found("crane")
        daemon.until_gone("stork")
        shutil.rmtree(note)
        outside.write("memory/a.md", "- a quail\n")
        daemon.until_found("quail")


@pytest.mark.scenario("F105")
def test_notes_that_swap_or_rotate_names_are_followed(outside: Outside):
    for number, bird in enumerate(("stork", "crane", "quail")):
        outside.write(f"memory/{number}.md", f"- a {bird}\n")

    def note_of(daemon: Running, bird: str) -> list[str]:
        return [hit["note"] for hit in daemon.search(bird)["hits"]]

    with outside.daemon() as daemon:
        folder = outside.vault / "memory"
        for source, target in ((0, "x"), (1, 0), (2, 1), ("x", 2)):
            (folder / f"{source}.md").rename(folder / f"{target}.md")

        for bird, number in (("stork", 2), ("crane", 0), ("quail", 1)):
            until(
                lambda bird=bird, number=number: note_of(daemon, bird) == [f"memory/{number}.md"],
                says=bird,
            )


@pytest.mark.scenario("F110")
def test_a_tree_a_thousand_levels_deep_is_cut_off_and_reported(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    here = os.open(outside.vault / "memory", os.O_RDONLY)
    try:
        for _ in range(1000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        with os.fdopen(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
            file.write("- a crane\n")
        with outside.daemon() as daemon:
            assert daemon.finds("stork")
            outside.write("memory/b.md", "- a quail\n")
            daemon.until_found("quail")
    finally:
        os.close(here)
        os.system(f"rm -rf {outside.vault / 'memory' / 'd'}")
