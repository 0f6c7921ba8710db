"""Log and nights: who changed what, when and why, what each night learned, and undo of both."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vault_memory.addons.page import wording
from vault_memory.addons.page.diffs import DiffLine, recorded
from vault_memory.addons.page.forms import OPEN_AGAIN, NoFields
from vault_memory.addons.page.page_answers import Answer, NotHere, PageView
from vault_memory.addons.page.viewer import Viewer, as_html
from vault_memory.addons.page.viewers.record_viewer import (
    WHO,
    RecordGroup,
    RecordRow,
    grouped,
    night_of,
    row_of,
)
from vault_memory.addons.page.views.outcome import answer_of, own_path
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.rules.edits.audit_record import Record

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.rules.edits.audit_record import Record


PART = 50
"""Records in one part of the log"""


BOT = "bot"
"""In place of a source: only what the bot did"""


class LogFields(msgspec.Struct):
    """The fields of `/log`."""

    note: str = ""
    """its path, or its name without folders"""
    source: str = ""
    before: str = ""
    """the id of the last record of the part before"""
    id: str = ""
    """one record, with all of its diff"""


class UndoFields(msgspec.Struct):
    """The form of an Undo button."""

    id: str
    to: str = "/log"


def show_log(viewer: Viewer, query: LogFields) -> PageView:
    if query.id:
        return _show_one(viewer, query.id)
    groups, older = _part(viewer, query)
    data = {"query": query, "sources": WHO, "groups": groups, "older": older}
    return PageView("log.html", "Changes", data)


def undo(viewer: Viewer, form: UndoFields) -> Answer:
    own_path(form.to)
    edit = viewer.records.undo(form.id)
    return answer_of(edit, form.to)


def _show_one(viewer: Viewer, record_id: str) -> PageView:
    row = viewer.records.row(record_id)
    return PageView(
        "record.html",
        f"A change of {wording.note_title(row.record.note)}",
        {"row": row, "tab": "/log"},
    )


def _part(viewer: Viewer, query: LogFields) -> tuple[list[RecordGroup], str]:
    """Return a part of the log, and the id with which the next one begins."""
    rows: list[tuple[Record, RecordRow]] = []
    for record, undone_by in _matches(viewer, query):
        if len(rows) == PART:
            return grouped(rows), rows[-1][0].id
        rows.append((record, row_of(record, undone_by)))
    return grouped(rows), ""


def _matches(viewer: Viewer, query: LogFields) -> "Iterator[tuple[Record, str]]":
    """Yield the records of a part and all older ones, with the ids of those that undid them."""
    is_older = not query.before
    # A record of this part may be undone by a newer one.
    for record, undone_by in viewer.records.with_undoing():
        if is_older and _is_wanted(record, query):
            yield record, undone_by
        is_older = is_older or record.id == query.before


def _is_wanted(record: "Record", query: LogFields) -> bool:
    if query.source == BOT and not (record.by_bot or night_of(record)):
        return False
    if query.source not in ("", BOT, record.source):
        return False
    if not query.note:
        return True
    file_name = record.note.rpartition("/")[2]
    return query.note in (record.note, file_name, file_name.rpartition(".")[0])


MOST_RECORDS = 200
"""Records that one press undoes"""
SHORT_LINES, SHORT_LETTERS = 30, 1_500
"""Of the diff of each of them"""
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

    row: RecordRow
    diff: Sequence[DiffLine] = ()
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
    steps = [_undo(viewer, row, dry_run=False) for row in rows if row.record.id in record_ids]
    data = {
        "night": form.night,
        "undone": [step for step in steps if not step.reason],
        "remaining": [step for step in steps if step.reason],
    }
    return PageView("night_undone.html", f"{wording.night(form.night)}: undone", data)


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
    return PageView("undo_night.html", f"Undo the night of {wording.day(night)}?", data)


def _undo(viewer: Viewer, row: RecordRow, *, dry_run: bool) -> NightStep:
    # Fault: the form may be sent twice. The second undo would bring everything back.
    if not row.can_undo:
        return NightStep(row, reason=GONE)
    try:
        edit = viewer.records.undo(row.record.id, dry_run=dry_run)
    except VaultMemoryError as error:
        return NightStep(row, reason=viewer.reason(error))
    reason = _why_not(edit)
    return NightStep(
        row, recorded(edit.diff.encode(), SHORT_LINES, SHORT_LETTERS), edit.audit_id or "", reason
    )


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


MOST_NIGHTS = 100
"""Nights in the table, the newest ones"""
ADDING_OPS = frozenset({"append", "add_heading", "replace"})


def _learned(viewer: Viewer) -> tuple[Counter[str], Counter[str]]:
    """Count the lines that each night wrote, and its changes that are undone now."""
    lines: Counter[str] = Counter()
    undone: Counter[str] = Counter()
    for record, undone_by in viewer.records.with_undoing():
        night = night_of(record)
        if night and record.before != record.after:
            undone[night] += bool(undone_by)
            lines[night] += sum(
                applied.outcome == "applied" and applied.op.get("op") in ADDING_OPS
                for applied in record.applied
            )
    return lines, undone


class NightFields(msgspec.Struct):
    """The fields of `/nights/DATE`."""

    night: str


def show_nights(viewer: Viewer, query: NoFields) -> PageView:
    reports = viewer.calls.learning.night_reports()
    next_begins = viewer.next_night()
    learned, undone = _learned(viewer)
    data = {
        "next_begins": next_begins,
        "is_late": _is_late(reports[0].night if reports else "", next_begins),
        "reports": reports[:MOST_NIGHTS],
        "learned": learned,
        "undone": undone,
        "left_out": len(reports[MOST_NIGHTS:]),
    }
    return PageView("nights.html", "Nights", data)


def show_night(viewer: Viewer, query: NightFields) -> PageView:
    reports = viewer.calls.learning.night_reports()
    nights = [report.night for report in reports]
    if query.night not in nights:
        raise NotHere("there is no report of such a night", hint="see all nights")
    index = nights.index(query.night)
    report = reports[index]
    changes = _rows(viewer, report.night)
    data = {
        "report": report,
        "tab": "/nights",
        "changes": changes,
        "html": as_html(report.text),
        "can_undo": any(row.can_undo for row in changes),
        "older": nights[index + 1] if index + 1 < len(nights) else "",
        "newer": nights[index - 1] if index else "",
    }
    return PageView("night.html", wording.night(report.night), data)


def _is_late(newest: str, next_begins: str) -> bool:
    """Return whether a night has begun since the newest one that has a report."""
    if not newest or not next_begins:
        return False
    last_begun = datetime.fromisoformat(next_begins).date() - timedelta(days=1)
    return newest < last_begun.isoformat()
