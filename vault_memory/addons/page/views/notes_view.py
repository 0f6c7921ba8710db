"""Notes: all notes of the session, by scope and kind."""

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import PageView, page_path
from vault_memory.addons.page.viewer import Viewer

if TYPE_CHECKING:
    from vault_memory.search.note_reports import NoteInfo

PART = 200
"""Notes in one part of the list"""


class NotesFields(msgspec.Struct):
    """The fields of `/notes`."""

    scope: str = ""
    kind: str = ""
    part: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1


class NoteGroup(NamedTuple):
    """The notes of one kind in one scope."""

    scope: str
    kind: str
    notes: "list[NoteInfo]"


def show(viewer: Viewer, query: NotesFields) -> PageView:
    notes = [note for note in viewer.notes.all() if _is_wanted(note, query)]
    notes.sort(key=lambda note: (note.scope, note.kind, note.note))
    start = (query.part - 1) * PART
    last = max(1, -(-len(notes) // PART))
    data = {
        "query": query,
        "total": len(notes),
        "groups": _groups(notes[start : start + PART]),
        "previous": _part_path(query, query.part - 1, last),
        "next": _part_path(query, query.part + 1, last),
    }
    return PageView("notes.html", "Notes", data)


def _is_wanted(note: "NoteInfo", query: NotesFields) -> bool:
    return query.scope in ("", note.scope) and query.kind in ("", note.kind)


def _groups(notes: "list[NoteInfo]") -> list[NoteGroup]:
    grouped = groupby(notes, lambda note: (note.scope, note.kind))
    return [NoteGroup(scope, kind, list(group)) for (scope, kind), group in grouped]


def _part_path(query: NotesFields, number: int, last: int) -> str:
    """Returns the path of another part of the list; empty when there is none."""
    if not 1 <= number <= last:
        return ""
    return page_path("/notes", scope=query.scope, kind=query.kind, part=number)
