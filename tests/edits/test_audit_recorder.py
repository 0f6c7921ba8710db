"""One record for each write, and when a person deleted an item: later words of theirs bring it back."""

import os
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.audit_recorder import DeletionTimes, plan_again, record_of
from vault_memory.edits.commands import ApplyOps, EditCommand
from vault_memory.edits.note_access import NoteAccess
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import PendingWrite

LINE = "my aunt lives in porto"
"""As the audit recognises it"""
WITHOUT = "# Me\n\n## Tea\n\n- green\n"


@pytest.fixture
def told(desk: Desk) -> datetime:
    """The moment at which the bot wrote the line."""
    desk.append(LINE, source="nightly")
    [record] = desk.records()
    return datetime.fromisoformat(record["ts"])


def said_later(desk: Desk, turn: datetime) -> bool:
    """Whether a turn of this time is later than the deletion of the line, for a night a day later."""
    access = NoteAccess(
        Folder(desk.vault), Layout([]), desk.curator.trail, desk.curator.files, desk.state
    )
    times = DeletionTimes(access, desk.curator.trail, lambda: desk.curator.writer)
    night = (turn + timedelta(days=1)).isoformat()
    command = replace(COMMAND, ts=night, spoken={"t1": turn.isoformat()})
    assert not times.said_later(command, "USER.md", LINE, "t9"), "a turn without a time"
    assert not times.said_later(replace(command, spoken=None), "USER.md", LINE, "t1")
    return times.said_later(command, "USER.md", LINE, "t1")


def save_at(desk: Desk, at: datetime, text: str = WITHOUT) -> None:
    file = desk.save(text)
    os.utime(file, (at.timestamp(), at.timestamp()))


def keep(desk: Desk, at: datetime) -> None:
    """The daemon sees the note."""
    note = Folder(desk.vault).read("USER.md")
    desk.curator.writer.snapshots.record_notes([note], at=at.timestamp())


def test_a_deletion_has_the_time_of_the_file(desk: Desk, told: datetime) -> None:
    save_at(desk, told + timedelta(seconds=600))

    assert not said_later(desk, told + timedelta(seconds=599))
    assert said_later(desk, told + timedelta(seconds=601))


def test_the_first_version_without_the_line_tells_it_better_than_a_later_save(
    desk: Desk, told: datetime
) -> None:
    for seconds, more in ((600, ""), (900, "- white\n"), (1200, "- red\n")):
        save_at(desk, told + timedelta(seconds=seconds), WITHOUT + more)
        if seconds < 1200:
            keep(desk, told + timedelta(seconds=seconds))

    assert not said_later(desk, told + timedelta(seconds=599))
    assert said_later(desk, told + timedelta(seconds=601))


def test_of_the_present_version_the_file_tells_when_it_was_saved(
    desk: Desk, told: datetime
) -> None:
    save_at(desk, told + timedelta(seconds=600))
    keep(desk, told + timedelta(seconds=1200))

    assert said_later(desk, told + timedelta(seconds=601))


def test_a_copied_file_with_an_older_time_proves_nothing(desk: Desk, told: datetime) -> None:
    save_at(desk, told - timedelta(days=30))

    assert not said_later(desk, told - timedelta(seconds=1))
    assert said_later(desk, told + timedelta(seconds=1))


def test_a_removal_on_request_has_the_time_of_its_record(desk: Desk, told: datetime) -> None:
    desk.ahead += timedelta(seconds=600)
    desk.do({"op": "remove", "heading": "Tea", "match": LINE}, source="cli")
    removed = datetime.fromisoformat(desk.records()[-1]["ts"])
    save_at(desk, removed + timedelta(seconds=600), WITHOUT + "- white\n")

    assert not said_later(desk, removed - timedelta(seconds=1))
    assert said_later(desk, removed + timedelta(seconds=1))


OLD, NEW = b"## Tea\n\n- green\n", b"## Tea\n\n- green\n- black\n"
APPEND = {"op": "append", "heading": "Tea", "line": "black"}
COMMAND = EditCommand(
    "c", "2026-11-29T12:00:00+00:00", "USER.md", "user", "cli", ApplyOps((APPEND,))
)
INPUTS = PlanInputs(
    lambda note: (), {revision_of(raw): raw for raw in (OLD, NEW, NEW + b"- ann\n")}.get
)


def done(after: bytes | None, outcome: str = "written", expected: bytes = OLD) -> PendingWrite:
    write = PendingWrite(
        "c", "USER.md", "ours", revision_of(OLD), revision_of(NEW), 0.0, "", phase="done"
    )
    result = None if after is None else revision_of(after)
    return replace(write, expected=revision_of(expected), after=result, outcome=outcome)


def recorded(write: PendingWrite, plan: EditPlan | None = None) -> Record:
    plan = plan or plan_again(COMMAND, write, INPUTS, ())
    return record_of(COMMAND, write, plan, INPUTS)


def test_a_record_tells_what_really_came_into_the_note() -> None:
    written = recorded(done(NEW))
    assert (written.before, written.after) == (revision_of(OLD), revision_of(NEW))
    assert [op.outcome for op in written.applied] == ["applied"]
    merged = recorded(done(NEW + b"- ann\n", "merged"))
    assert merged.after == revision_of(NEW + b"- ann\n")
    assert b"+- ann" in merged.diff


def test_a_write_that_ended_without_effect_claims_no_op() -> None:
    unchanged = recorded(done(OLD, "unchanged"))

    assert (unchanged.before, unchanged.after, unchanged.applied) == (
        revision_of(OLD),
        revision_of(OLD),
        (),
    )
    copied = recorded(done(OLD, "copied"))
    assert copied.why == "(it lies in a copy beside the note)"
    assert recorded(done(NEW)).why == ""
