"""What a swap does where the system refuses a step: the reason to wait, nothing left behind, no byte lost."""

import errno
import os
from collections.abc import Callable

import pytest

from tests.every import every
from tests.simulated.files import SimulatedFiles
from tests.vault.write.lines import note
from tests.vault.write.templates import NEW, NOTE, OLD, TEMPLATES, begin
from vault_memory.vault.write.atomic_swap import temporary, why
from vault_memory.vault.write.wait_reasons import Reason

LINKS = next(template for template in TEMPLATES if template.name == "only links")


def refuse(number: int) -> Callable[[SimulatedFiles], None]:
    def fail(files: SimulatedFiles) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@every(
    ("number", "reason"),
    [
        (errno.ENOSPC, "no_space"),
        (errno.EDQUOT, "no_space"),
        (errno.EACCES, "read_only"),
        (errno.EPERM, "read_only"),
        (errno.EROFS, "read_only"),
        (errno.EIO, "io_error"),
        (errno.ENOENT, "absent"),
        (errno.ENOTDIR, "absent"),
        (errno.ELOOP, "outside"),
        (errno.EXDEV, "outside"),
        (errno.EBUSY, "io_error"),
    ],
)
def test_an_error_of_the_system_has_its_reason(number: int, reason: Reason) -> None:
    assert why(OSError(number, "")) == reason
    assert why(OSError()) == "io_error"


@pytest.mark.scenario("B39", "B40")
@every("call", ["create .", "write", "set_mode", "fsync"])
@every(("number", "reason"), [(errno.ENOSPC, "no_space"), (errno.EIO, "io_error")])
def test_a_temporary_that_cannot_be_made_makes_the_write_wait(
    call: str, number: int, reason: str
) -> None:
    world = begin(TEMPLATES[0])
    world.files.meanwhile[call] = refuse(number)

    done = world.write(NOTE, NEW, OLD)

    assert not world.files.meanwhile, "the call was made"
    assert (done.outcome, done.reason) == ("pending", reason)
    assert (world.files.text(NOTE), world.strays()) == (OLD, [])
    world.later(1)
    world.writer.tend(world.now)
    assert world.files.text(NOTE) == NEW


@every(
    ("number", "reason"),
    [
        (errno.EOPNOTSUPP, "file_system"),
        (errno.EINVAL, "file_system"),
        (errno.ENOSPC, "no_space"),
        (errno.EACCES, "read_only"),
    ],
)
def test_a_file_system_without_a_safe_way_to_name_a_file_is_told(number: int, reason: str) -> None:
    world = begin(LINKS)
    world.files.meanwhile["link ."] = refuse(number)

    done = world.write("memory/new.md", NEW, None)

    assert (done.outcome, done.reason) == ("pending", reason)
    assert world.files.text("memory/new.md") is None
    assert world.strays() == []


@pytest.mark.scenario("B38")
def test_a_note_that_was_moved_away_and_cannot_be_replaced_comes_back_from_recovery() -> None:
    world = begin(LINKS)
    world.files.meanwhile["link ."] = refuse(errno.EOPNOTSUPP)

    done = world.write(NOTE, NEW, OLD)

    assert (done.outcome, done.reason) == ("pending", "io_error")
    assert world.files.text(NOTE) is None, "its bytes have another name for now"
    world.writer.tend(world.now)
    assert world.files.text(NOTE) in (OLD, NEW)
    world.tend_until_quiet()
    assert (world.files.text(NOTE), world.strays()) == (NEW, [])


@pytest.mark.scenario("A1")
def test_an_editor_that_removes_or_saves_the_note_before_the_swap_is_not_overwritten() -> None:
    def saves(files: SimulatedFiles) -> None:
        files.person_saves(NOTE, note("a", "b", "ann"))

    def removes(files: SimulatedFiles) -> None:
        files.person_removes(NOTE)

    saved, removed = begin(TEMPLATES[0]), begin(TEMPLATES[0])
    saved.files.meanwhile["look USER.md"] = lambda files: None
    saved.files.meanwhile["create ."] = saves
    removed.files.meanwhile["exchange "] = removes

    assert saved.write(NOTE, NEW, OLD).reason == "hot"
    saved.tend_until_quiet()
    assert saved.files.text(NOTE) == note("a", "b", "ann", "bot")
    gone = removed.write(NOTE, NEW, OLD)
    assert (gone.outcome, gone.reason) == ("pending", "absent")
    assert removed.files.text(NOTE) is None
    assert removed.strays() == []


@every("name", ["USER.md", "a" * 251 + ".md", "\u00e4" * 126 + ".md"])
def test_a_temporary_is_hidden_names_its_note_and_fits_with_one_letter_more(name: str) -> None:
    made = temporary(name, "0123456789abcdef")

    assert made.startswith(f".{name[:5]}")
    assert made.endswith(".~0123456789abcdef")
    assert len(made.encode()) <= 254


@pytest.mark.scenario("D69")
@every(
    ("new", "seconds", "ahead"),
    [(note("a", "c"), 0.5, 1), (NEW, 0.5, 0), (note("a", "c"), 5.0, 0), (NEW, 5.0, 0)],
)
def test_only_a_text_of_the_same_size_and_second_gets_a_later_time(
    new: bytes, seconds: float, ahead: int
) -> None:
    """A sync client that compares both in whole seconds would miss the change."""
    world = begin(TEMPLATES[0])
    world.files.person_saves(NOTE, OLD)
    world.later(seconds)

    world.write(NOTE, new, OLD)

    assert world.files.text(NOTE) == new
    status = world.files.inodes[world.files.number_of(NOTE)]
    assert status.mtime // 10**9 == int(world.files.clock) + ahead
