"""What an undo makes of a note, with and without the stored versions, and what it refuses."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from vault_memory.edits.commands import EditCommand, RestoreLines, UndoRecord
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.edits.plans.undo_record import EMPTY_NOTE, plan_lost_lines, plan_undo
from vault_memory.markdown.document import parse, render
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record, RecordedOp, record_run
from vault_memory.rules.edits.undo import NotUndoable
from vault_memory.vault.snapshots import revision_of

NOTE = "USER.md"
OLD = b"## Tea\n\n- green\n- white\n"
APPEND = {"op": "append", "heading": "Tea", "line": "black"}
REMOVE = {"op": "remove", "heading": "Tea", "match": "green"}


def recorded(before: bytes | None, *ops: Mapping[str, object], **more: Any) -> tuple[Record, bytes]:
    """The record of ops, as its file gives it, and the note after them."""
    outcome = apply_ops(parse(before or b""), ops)
    after = render(outcome.doc)
    head = Record("r1", "2026-11-21T03:00:00+01:00", "main", "nightly", NOTE)
    record = record_run(head, before=before, after=after, applied=outcome.applied)
    read = read_line(json.dumps(record.as_json()).encode())
    assert read is not None
    return replace(read, **more), after


def inputs(*records: Record, stored: tuple[bytes, ...] = ()) -> PlanInputs:
    texts = {revision_of(raw): raw for raw in stored}
    return PlanInputs(lambda note: records, lambda revision: texts.get(revision or ""))


def undone(record: Record, before: bytes | None, *stored: bytes, record_id: str = "r1") -> EditPlan:
    moment = "2026-11-29T12:00:00+00:00"
    command = EditCommand("u", moment, NOTE, "user", "undo", UndoRecord(record_id))
    return plan_undo(command, record_id, before, inputs(record, stored=stored))


def test_an_unchanged_note_gets_its_bytes_back() -> None:
    record, after = recorded(OLD, APPEND, REMOVE)

    plan = undone(record, after)

    assert (plan.after, plan.rejected, plan.proposed) == (OLD, (), ())
    assert [(op.op["op"], op.outcome) for op in plan.applied] == [("undo", "applied")] * 2


def test_a_note_that_a_record_made_is_taken_away_again() -> None:
    record, after = recorded(None, {"op": "add_heading", "heading": "Tea", "lines": ["green"]})

    plan = undone(record, after)

    assert plan.before == after
    assert plan.after is None


def test_a_note_that_a_record_took_away_is_made_again() -> None:
    head = Record("r1", "", "main", "retention", NOTE)
    record = record_run(head, before=OLD, after=None)

    assert undone(record, None, OLD).after == OLD
    assert revision_of(b"") == EMPTY_NOTE


def test_lines_that_came_since_stay() -> None:
    record, after = recorded(OLD, APPEND)
    newer = after.replace(b"- black\n", b"- black\n- red\n")

    for stored in ((), (OLD, after)):
        assert undone(record, newer, *stored).after == OLD + b"- red\n"


def test_a_record_is_found_by_the_id_that_was_folded_into_it() -> None:
    record, after = recorded(OLD, APPEND, folded=())
    with pytest.raises(NotUndoable, match="no record r9 any more"):
        undone(record, after, record_id="r9")


@pytest.mark.parametrize("stored", [(), (OLD,)])
def test_what_left_no_trace_in_the_note_cannot_be_undone(stored: tuple[bytes, ...]) -> None:
    record, _ = recorded(OLD, APPEND)

    with pytest.raises(NotUndoable, match=r"nothing of (record r1|it)"):
        undone(record, b"## Boats\n\n- a kayak\n", *stored)


def test_nothing_is_undone_in_a_note_that_is_gone() -> None:
    record, _ = recorded(OLD, APPEND)

    with pytest.raises(NotUndoable, match="is gone") as refused:
        undone(record, None)
    assert f"{NOTE}.audit.jsonl" in (refused.value.hint or "")


def test_lost_lines_come_back_and_a_version_that_is_lost_changes_nothing() -> None:
    loaded, overwritten = OLD, OLD + b"- black\n"
    saved = OLD + b"- red\n"
    record, _ = recorded(OLD, APPEND)
    action = RestoreLines(*map(revision_of, (loaded, overwritten, saved)))
    command = EditCommand("m", "2026-11-29T12:00:00+00:00", NOTE, "user", "merge", action)

    def plan(before: bytes | None, *stored: bytes) -> EditPlan:
        return plan_lost_lines(command, action, before, inputs(record, stored=stored))

    merged = plan(saved, loaded, overwritten, saved)
    assert sorted((merged.after or b"").splitlines()) == sorted(
        (OLD + b"- black\n- red\n").splitlines()
    )
    assert [op.outcome for op in merged.applied] == ["applied"]
    whole = plan(merged.after, loaded, overwritten, saved)
    assert whole.after == merged.after
    assert [op.outcome for op in whole.applied] == ["noop_dup"]
    later = plan(saved + b"- later\n", loaded, overwritten, saved)
    assert {b"- later", b"- black", b"- red"} <= set((later.after or b"").splitlines())
    for lost in ((loaded, overwritten), (loaded, saved)):
        assert plan(saved, *lost) == EditPlan(saved, saved)
    assert plan(None, loaded, overwritten, saved) == EditPlan(None, None)


def test_a_section_that_the_save_renamed_is_named_in_the_record() -> None:
    overwritten = OLD + b"- black\n"
    saved = OLD.replace(b"## Tea", b"## Drinks")
    record, _ = recorded(OLD, APPEND)
    action = RestoreLines(*map(revision_of, (OLD, overwritten, saved)))
    command = EditCommand("m", "2026-11-29T12:00:00+00:00", NOTE, "user", "merge", action)

    plan = plan_lost_lines(command, action, saved, inputs(record, stored=(OLD, overwritten, saved)))

    assert plan.after == saved + b"- black\n"
    [op] = plan.applied
    assert isinstance(op, RecordedOp)
    assert op.op["renamed"] == {"Tea": "Drinks"}
