"""Whether a note may be replaced now: each sign of an editor, and each property that a swap would destroy."""

from dataclasses import replace
from typing import Any

import pytest

from tests.every import every
from tests.simulated.files import SimulatedFiles
from vault_memory.vault.fs import FileStatus
from vault_memory.vault.write.preconditions import (
    HOLD,
    PATIENCE,
    SPACE,
    CurrentFile,
    WriteRequest,
    came_or_went,
    editor_locks,
    half_saved,
    read_live,
    reason_to_wait,
)
from vault_memory.vault.write.wait_reasons import Reason

NAME = "USER.md"
RAW = b"a\nb\nc\n"


def a_note(age: float = 100.0) -> tuple[SimulatedFiles, int]:
    """A disk with a note that was saved so many seconds ago, and its folder."""
    files = SimulatedFiles()
    files.person_saves(NAME, RAW)
    files.clock += age
    return files, files.open_folder("")


def why(files: SimulatedFiles, folder: int, **asked: Any) -> Reason | None:
    live = read_live(files, folder, NAME)
    assert isinstance(live, CurrentFile)
    now = asked.pop("now", files.clock)
    given: dict[str, Any] = {
        "size": 10,
        "since": now,
        "quiet": 0.3,
        "now": now,
        "previous": None,
        "is_over_ours": False,
    }
    return reason_to_wait(files, folder, NAME, live, WriteRequest(**given | asked))


def test_a_note_that_was_left_alone_may_be_replaced() -> None:
    assert why(*a_note()) is None


@pytest.mark.scenario("A28", "A29")
def test_what_a_swap_would_destroy_makes_a_write_wait() -> None:
    files, folder = a_note()
    number = files.number_of(NAME)

    files.link(folder, NAME, "second.md")
    assert why(files, folder) == "hard_link"
    files.unlink(folder, "second.md")
    files.inodes[number].mode &= ~0o222
    assert why(files, folder) == "read_only"
    files.inodes[number].mode |= 0o020
    files.inodes[number].uid = files.uid + 1
    assert why(files, folder) == "not_ours"
    files.uid = 0
    files.clock += 100
    assert why(files, folder) is None


@every("lock", editor_locks(NAME))
def test_the_lock_of_an_editor_is_respected_for_some_minutes(lock: str) -> None:
    files, folder = a_note()
    files.person_saves(lock, b"")

    assert why(files, folder, since=files.clock - PATIENCE + 1) == "in_editor"
    assert why(files, folder, since=files.clock - PATIENCE) is None
    assert why(files, folder, since=files.clock + PATIENCE) is None, "the clock was set back"


@pytest.mark.scenario("B39")
def test_a_disk_needs_room_for_several_copies_of_the_note() -> None:
    files, folder = a_note()
    files.space = SPACE * 10

    assert why(files, folder, size=10) is None
    assert why(files, folder, size=11) == "no_space"


@pytest.mark.scenario("A3", "A4", "B50")
@every(
    ("age", "asked", "reason"),
    [
        (0.1, {}, "hot"),
        (0.3, {}, None),
        (5.0, {"quiet": 10.0}, "hot"),
        (10.0, {"quiet": 10.0}, None),
        (1.0, {"previous": RAW * 3}, "truncated"),
        (1.0, {"previous": RAW + b"d\n"}, "truncated"),
        (1.0, {"previous": b"x\n"}, None),
        (HOLD, {"previous": RAW * 3}, None),
        (0.1, {"is_over_ours": True}, None),
        (-4.0, {}, "hot"),
        (-6.0, {}, None),
    ],
)
def test_a_save_that_may_still_be_under_way_is_waited_for(
    age: float, asked: dict[str, Any], reason: Reason | None
) -> None:
    files, folder = a_note(0.0)

    assert why(files, folder, now=round(files.clock + age, 3) + 0.001, **asked) == reason


@pytest.mark.scenario("A4")
def test_a_note_that_is_open_for_writing_is_waited_for_some_seconds() -> None:
    files, folder = a_note(1.0)
    files.others[files.number_of(NAME)] = 1

    assert why(files, folder) == "hot"
    files.leases = False
    assert why(files, folder) is None
    files.leases = True
    assert why(files, folder, now=files.clock + HOLD) is None


def test_a_file_is_read_with_its_bytes_or_says_why_not() -> None:
    files, folder = a_note()
    files.make_folder(folder, "folder.md")
    files.inodes[files.number_of(NAME)].attributes["user.x"] = b"1"

    live = read_live(files, folder, NAME)
    assert isinstance(live, CurrentFile)
    assert (live.raw, live.attributes) == (RAW, {"user.x": b"1"})
    assert read_live(files, folder, "none.md") is None
    assert read_live(files, folder, "folder.md") == "no_file"
    assert read_live(files, folder, NAME, max_bytes=len(RAW) - 1) == "unreadable"
    assert isinstance(read_live(files, folder, NAME, max_bytes=len(RAW)), CurrentFile)


@pytest.mark.scenario("A2", "A4", "B40")
@every(
    ("call", "happens", "reason"),
    [
        ("open USER.md", lambda files: files.person_removes(NAME), "hot"),
        ("read", lambda files: files.person_writes(files.number_of(NAME), b"new"), "hot"),
        ("stat", lambda files: files.faults.update({files.calls: 5}), "unreadable"),
        ("open USER.md", lambda files: files.faults.update({files.calls: 5}), "unreadable"),
        ("attributes", lambda files: files.faults.update({files.calls: 5}), "unreadable"),
    ],
)
def test_what_happens_during_the_read_makes_the_write_wait(
    call: str, happens: Any, reason: Reason
) -> None:
    files, folder = a_note()
    files.meanwhile[call] = happens

    assert read_live(files, folder, NAME) == reason
    assert list(files.open_files) == [folder], "no file stays open"


@pytest.mark.scenario("C23", "B50")
def test_a_folder_whose_names_changed_seconds_ago_may_be_in_the_middle_of_a_save() -> None:
    files, folder = a_note(0.0)
    changed = files.stat(folder).mtime_ns / 1e9

    for seconds, may_be in ((0.0, True), (HOLD - 0.1, True), (HOLD, False), (-HOLD, False)):
        assert came_or_went(files, folder, changed + seconds) is may_be


@every(
    ("raw", "last", "is_half"),
    [
        (b"", None, True),
        (b"a", None, False),
        (b"", b"a\n", True),
        (b"abc", b"abcd", True),
        (b"abcd", b"abcd", False),
        (b"xyz", b"abcd", False),
        (b"x", b"abcd", True),
        (b"xy", b"abcd", False),
        ("abcd\u00e9".encode()[:-1], b"abc", True),
        ("abcd\u00e9".encode()[:-1], "abcd\u00e9".encode()[:-1], False),
        (b"abcde", b"abcd", False),
    ],
)
def test_half_a_save_is_short_a_beginning_or_ends_inside_a_letter(
    raw: bytes, last: bytes | None, is_half: bool
) -> None:
    assert half_saved(raw, last) is is_half


def test_a_status_that_another_program_changed_is_another_one() -> None:
    files, folder = a_note()
    live = read_live(files, folder, NAME)
    assert isinstance(live, CurrentFile)

    files.person_writes(files.number_of(NAME), RAW)

    again = read_live(files, folder, NAME)
    assert isinstance(again, CurrentFile)
    assert isinstance(again.info, FileStatus)
    assert again.info != live.info
    assert replace(again, info=live.info) == live
