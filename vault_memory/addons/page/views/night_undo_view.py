"""Undo this night: first what it would undo, then the undo, newest record first."""

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vault_memory.addons.page.forms import OPEN_AGAIN
from vault_memory.addons.page.page_answers import PageView
from vault_memory.addons.page.records.changed_lines import ChangedLines, read_diff
from vault_memory.addons.page.records.record_groups import night_of
from vault_memory.addons.page.records.record_rows import RecordRow, row_of
from vault_memory.addons.page.viewer import Viewer
from vault_memory.errors import UsageError, VaultMemoryError

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit

MOST_RECORDS = 200
"""Records that one press undoes"""
GONE = "it is undone already, or it changed nothing"
NOTHING_LEFT = "nothing of it is left in the note"


class NightUndoFields(msgspec.Struct):
    """The form of *Undo this night*."""

    night: str
    sure: str = ""
    """empty: only show what would be undone"""
    id: tuple[str, ...] = ()
    """the records that were shown"""


class NightStep(NamedTuple):
    """A record of the night, and what its undo does."""

    record: RecordRow
    diff: ChangedLines = ChangedLines()
    undo_id: str = ""
    """the record of the undo; empty when nothing was written"""
    reason: str = ""
    """why it is not undone; empty if it is"""


def undo_night(viewer: Viewer, form: NightUndoFields) -> PageView:
    rows = _rows(viewer, form.night)
    if not form.sure:
        return _preview(viewer, form.night, rows)
    record_ids = set(form.id)
    if not record_ids:
        raise UsageError("the form names no record", hint=OPEN_AGAIN)
    steps = [_undo(viewer, row, dry_run=False) for row in rows if row.id in record_ids]
    data = {
        "night": form.night,
        "undone": [step for step in steps if not step.reason],
        "remaining": [step for step in steps if step.reason],
    }
    return PageView("night_undone.html", f"The night of {form.night}: undone", data)


def _rows(viewer: Viewer, night: str) -> list[RecordRow]:
    """Return the records of a night, newest first."""
    return [
        row_of(record, undone_by)
        for record, undone_by in viewer.records.with_undoing()
        if night and night_of(record) == night
    ]


def _preview(viewer: Viewer, night: str, rows: list[RecordRow]) -> PageView:
    changes = [row for row in rows if row.can_undo]
    steps = [_undo(viewer, row, dry_run=True) for row in changes[:MOST_RECORDS]]
    data = {"night": night, "steps": steps, "more": max(0, len(changes) - MOST_RECORDS)}
    return PageView("undo_night.html", f"Undo the night of {night}?", data)


def _undo(viewer: Viewer, row: RecordRow, *, dry_run: bool) -> NightStep:
    # Fault: the form may be sent twice. The second undo would bring everything back.
    if not row.can_undo:
        return NightStep(row, reason=GONE)
    try:
        edit = viewer.records.undo(row.id, dry_run=dry_run)
    except VaultMemoryError as error:
        return NightStep(row, reason=viewer.records.reason(error))
    reason = _why_not(edit)
    return NightStep(row, read_diff(edit.diff), edit.audit_id or "", reason)


def _why_not(edit: "Edit") -> str:
    """Return why an undo changed nothing; empty if it changed the note."""
    if edit.pending:
        pending = edit.pending[0]
        return f"it waits: {pending.explanation or pending.reason}"
    if edit.changed:
        return ""
    if edit.proposed:
        return "it is proposed in the inbox"
    return NOTHING_LEFT
