"""Log: who changed which note, when and why; and undo."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import Answer, PageView
from vault_memory.addons.page.records.record_rows import WHO, RecordRow, row_of
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import answer_of, own_path

if TYPE_CHECKING:
    from vault_memory.rules.edits.audit_record import Record

PART = 50
"""Records in one part of the log"""


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


class LogPart(NamedTuple):
    """One part of the log, newest first."""

    rows: list[RecordRow]
    older: str = ""
    """the id with which the next part begins; empty after the last record"""


def show(viewer: Viewer, query: LogFields) -> PageView:
    if query.id:
        return _show_one(viewer, query.id)
    data = {"query": query, "sources": WHO, "part": _part(viewer, query)}
    title = f"Log of {query.note}" if query.note else "Log"
    return PageView("log.html", title, data)


def undo(viewer: Viewer, form: UndoFields) -> Answer:
    own_path(form.to)
    edit = viewer.records.undo(form.id)
    return answer_of(edit, form.to)


def _show_one(viewer: Viewer, record_id: str) -> PageView:
    row = viewer.records.row(record_id)
    return PageView("record.html", row.summary, {"record": row})


def _part(viewer: Viewer, query: LogFields) -> LogPart:
    rows: list[RecordRow] = []
    for record, undone_by in _matches(viewer, query):
        if len(rows) == PART:
            return LogPart(rows, rows[-1].id)
        rows.append(row_of(record, undone_by))
    return LogPart(rows)


def _matches(viewer: Viewer, query: LogFields) -> "Iterator[tuple[Record, str]]":
    """Yield the records of a part and all older ones, with the ids of those that undid them."""
    is_older = not query.before
    # A record of this part may be undone by a newer one.
    for record, undone_by in viewer.records.with_undoing():
        if is_older and _is_wanted(record, query):
            yield record, undone_by
        is_older = is_older or record.id == query.before


def _is_wanted(record: "Record", query: LogFields) -> bool:
    if query.source and record.source != query.source:
        return False
    if not query.note:
        return True
    file_name = record.note.rpartition("/")[2]
    return query.note in (record.note, file_name, file_name.rpartition(".")[0])
