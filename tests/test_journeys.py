"""How far an op and a save travel: the count works, and the ways do not get longer."""

import fcntl
import os
from pathlib import Path

import pytest

from benchmarks.journeys import PACKAGE, Journey, measure_apart, room_of

LIMITS = {
    "op": {
        # The types of the arguments are checked, the properties of a note are indexed, and the
        # records of a note are read from a cache, which asks whether the file is another one.
        # Sections of any level, markers, boxes and escapes of items, and texts that look alike
        # take about 85 calls for a list of five items. About 15 ask whether the note was renamed.
        # What became of the line is a sentence, for which the diff of the record is read: 130 calls.
        "calls": 1040,
        # The id of a command is made by a function, which a fleet replaces for a replay.
        "functions": 512,
        # Item texts, visible texts, letters, the place of an op, its explanation, the renames
        # and their search are modules of their own.
        "modules": 87,
        # A record takes the name of its note, which may have moved with its audit file. The rules
        # of ops ask the document model for each item of a list: what it shows and how it begins.
        "room_switches": 148,
        "note_read": 1,
        "real_path_resolved": 1,
        "audit_read": 1,
        # The folder is opened to compare inode and marker of the same folder.
        "opened": 22,
        "locks": 3,
        "locks_nested": 2,
    },
    "save": {
        # The daemon hears of each save, because item stamps may be due. The figures of a
        # save vary by one between runs.
        # The loop passes the hints to the upkeep of the vault, and the upkeep tells its owner.
        # One reader of events may serve many vaults, and passes each event to its own.
        # A turn asks whether notes or stamps are due, and whether there is a new index, before it
        # opens the index: a vault of a host is opened for a question, and often needs none of it.
        # The notes that are not indexed are counted, and markers are taken out by the module that
        # knows items.
        # A turn asks first whether the vault has another owner: what it indexes is that person's.
        # The lengths of new chunks are written with them.
        "calls": 189,
        # Clients that wait for changes are answered. The upkeep of a vault, and the turns of its
        # sync, are modules without a thread, so that a host can have many of them.
        "modules": 52,
        "room_switches": 51,
        "note_read": 1,
        "opened": 2,
    },
}
"""A change that raises one says here for which step."""
SEEN = {"op": ("note_read", "real_path_resolved", "audit_read", "locks"), "save": ("note_read",)}
"""What cannot be nought: a figure at nought means that it is not counted any more"""


def test_an_op_and_a_save_stay_within_the_recorded_call_limits(tmp_path: Path):
    figures = measure_apart(tmp_path)

    longer = {
        f"{name} {figure}": figures[name][figure]
        for name, limits in LIMITS.items()
        for figure, limit in limits.items()
        if figures[name][figure] > limit
    }
    assert not longer
    assert all(figures[name][figure] for name, seen in SEEN.items() for figure in seen)


@pytest.mark.parametrize(
    ("module", "room"),
    [("errors.py", "errors"), ("vault/write.py", "vault"), ("rules/edits/ops.py", "rules")],
)
def test_the_package_of_a_module_is_its_first_folder(module: str, room: str):
    assert room_of(PACKAGE + module) == room


def test_a_lock_counts_as_nested_only_while_another_is_held(tmp_path: Path):
    journey = Journey("list.md")
    first, second = (os.open(tmp_path / name, os.O_CREAT | os.O_RDWR) for name in ("a", "b"))
    journey.lock(first, fcntl.LOCK_EX)
    journey.lock(first, fcntl.LOCK_UN)
    journey.lock(second, fcntl.LOCK_EX)
    os.close(second)
    third = os.open(tmp_path / "c", os.O_CREAT | os.O_RDWR)  # has the number of the closed one
    journey.lock(first, fcntl.LOCK_EX)

    assert (journey.locks, journey.deepest_lock) == (3, 1)

    journey.lock(third, fcntl.LOCK_EX)

    assert journey.deepest_lock == 2
    os.close(first)
    os.close(third)
