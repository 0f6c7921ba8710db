"""Somebody saves just before any call of a write, in each way that editors save: all lines are there in the end.

The same is done to engines that are known to be wrong, and must find them out.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.every import every
from tests.simulated.files import SimulatedFiles
from tests.vault.write.lines import merge_lines, note
from tests.vault.write.templates import NEW, NOTE, OLD, TEMPLATES, begin, write
from tests.vault.write.world import World
from vault_memory.vault.snapshots import revision_of

ANN = b"ann\n"
Save = Callable[[SimulatedFiles], Iterator[None]]


def by_rename(files: SimulatedFiles) -> Iterator[None]:
    """A new file takes the name."""
    files.person_saves(NOTE, (files.text(NOTE) or OLD) + ANN)
    yield


def in_place(files: SimulatedFiles) -> Iterator[None]:
    """The file under the name is emptied, and written a moment later."""
    if (
        files.text(NOTE) is None
    ):  # without exchange there is an instant in which an editor must make the file
        return by_rename(files)
    return _in_place(files)


def _in_place(files: SimulatedFiles) -> Iterator[None]:
    number = files.number_of(NOTE)
    raw = files.inodes[number].data
    files.others[number] = files.others.get(number, 0) + 1
    files.person_writes(number, b"")
    yield
    files.person_writes(number, raw[:3])
    yield
    files.person_writes(number, raw + ANN)
    files.others.pop(number)
    yield


def into_what_was_open(files: SimulatedFiles) -> Iterator[None]:
    """Somebody appends to the file that was open from the start, wherever it lies now."""
    files.person_writes(files.held, files.inodes[files.held].data + ANN)
    files.others.pop(files.held)
    yield


def as_vim(files: SimulatedFiles) -> Iterator[None]:
    """The note gets another name; a moment later a new one is made, empty, and then written."""
    raw = files.text(NOTE) or OLD
    if files.text(NOTE) is not None:
        files.person_removes(NOTE)
    yield
    number = (
        files.number_of(NOTE) if files.text(NOTE) is not None else files.person_saves(NOTE, b"")
    )
    files.others[number] = 1
    yield
    files.person_writes(number, raw + ANN)
    files.others.pop(number)
    yield


SAVES: dict[str, Save] = {
    "by rename": by_rename,
    "in place": in_place,
    "into the open file": into_what_was_open,
    "as vim": as_vim,
}


def world_with_save(
    save: Save, act: Callable[[World], None], at: int, pace: int, *, exchanges: bool = True
) -> World:
    """The save begins before call ``at``; its further steps come every ``pace`` calls."""
    world = begin(TEMPLATES[0])
    files = world.files
    files.exchanges = exchanges
    if save is into_what_was_open:
        files.held = files.number_of(NOTE)
        files.others[files.held] = 1
    steps = _begun(save, files)
    files.every = (at, pace, steps)
    act(world)
    files.every = None
    for _ in steps:
        pass
    return world


def _begun(save: Save, files: SimulatedFiles) -> Iterator[None]:
    """The steps, decided upon when the first is taken."""
    yield from save(files)


def lines(world: World) -> list[str]:
    return sorted((world.files.text(NOTE) or b"").decode().split())


def calls(act: Callable[[World], None]) -> int:
    world = begin(TEMPLATES[0])
    act(world)
    return world.files.calls


@pytest.mark.scenario("A1", "A2", "A3", "A4", "A5")
@every("exchanges", [True, False], ids=["exchange", "no exchange"])
@every("save", SAVES.values(), ids=SAVES)
def test_a_save_at_any_moment_of_a_write_is_kept(save: Save, exchanges: bool) -> None:
    for pace in (1, 3, 1000):
        for at in range(1, calls(write) + 3):
            world = world_with_save(save, write, at, pace, exchanges=exchanges)
            world.tend_until_quiet()

            found = lines(world)
            if (
                save is as_vim and not exchanges and "bot" not in found
            ):  # loaded before, saved after: a stale buffer
                assert world.writer.snapshots.knows(revision_of(NEW))
                found.append("bot")
            assert sorted(found) == ["a", "ann", "b", "bot"], (at, pace)
            assert world.strays() == []
            assert world.writer.displaced() == []


def last_writer_wins(world: World) -> None:
    """Reads, writes a temporary, renames it over whatever is there."""
    files = world.files
    folder = files.open_folder("memory")
    fd = files.open(folder, "USER.md")
    raw = files.read(fd)
    files.close(fd)
    _put(files, folder, raw + b"bot\n")


def check_then_rename(world: World) -> None:
    """The same, but reads once more just before, and merges what changed."""
    files = world.files
    folder = files.open_folder("memory")
    fd = files.open(folder, "USER.md")
    raw = files.read(fd)
    files.close(fd)
    fd = files.open(folder, "USER.md")
    now = files.read(fd)
    files.close(fd)
    _put(
        files,
        folder,
        merge_lines(raw, NEW, now) or NEW if revision_of(now) != revision_of(raw) else NEW,
    )


def swap_and_forget(world: World) -> None:
    """Swaps, but never looks at what was displaced."""
    files = world.files
    folder = files.open_folder("memory")
    fd = files.create(folder, "temp", private=True)
    files.write(fd, NEW)
    files.fsync(fd)
    files.close(fd)
    files.exchange(folder, "temp", "USER.md")
    files.unlink(folder, "temp")


def _put(files: SimulatedFiles, folder: int, raw: bytes) -> None:
    fd = files.create(folder, "temp", private=True)
    files.write(fd, raw)
    files.fsync(fd)
    files.close(fd)
    files.rename(folder, "temp", "USER.md")
    files.fsync(folder)


@pytest.mark.parametrize("engine", [last_writer_wins, check_then_rename, swap_and_forget])
def test_a_broken_engine_is_detected(engine: Callable[[World], None]) -> None:
    lost = [
        at
        for at in range(1, calls(engine) + 1)
        if "ann" not in lines(world_with_save(by_rename, engine, at, 1))
    ]

    assert lost


def test_the_merge_used_by_these_tests_keeps_both_sides() -> None:
    assert merge_lines(OLD, NEW, note("a", "b", "ann")) == note("a", "b", "ann", "bot")
    assert merge_lines(OLD, note("a"), note("a", "b", "ann")) == note("a", "ann")


def test_a_late_save_to_a_displaced_file_waits_for_another_save_to_finish() -> None:
    """Merged into half of a save, it would leave a cut line in the note for good."""
    world = begin(TEMPLATES[0])
    files = world.files
    files.leases = False  # the system does not tell who writes to the note
    log = files.number_of(NOTE)
    write(world)
    files.person_writes(log, note("a", "b", "late"))
    world.later(5)
    world.writer.tend(world.now)
    world.later(5)

    editor = files.number_of(NOTE)
    whole = note("a", "b, reworded", "bot", "ann and bob")
    files.person_writes(editor, whole[:-5])
    world.later(0.05)
    world.writer.tend(world.now)

    assert files.text(NOTE) == whole[:-5]
    files.person_writes(editor, whole)
    world.tend_until_quiet()
    assert sorted((files.text(NOTE) or b"").splitlines()) == sorted([*whole.splitlines(), b"late"])
