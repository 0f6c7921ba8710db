"""Trash: notes and conflict copies that were deleted, and how to have one back."""

from typing import TYPE_CHECKING

import msgspec

from vault_memory.addons.page.page_answers import Answer, PageView, Redirect, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import WAITS

if TYPE_CHECKING:
    from vault_memory.edits.reports import ThrownNote

MOST_NOTES = 200


class TrashFields(msgspec.Struct):
    """The fields of `/trash`."""

    restored: str = ""
    """the note that was just restored"""


class RestoreFields(msgspec.Struct):
    """The form of Restore."""

    id: str


def show(viewer: Viewer, query: TrashFields) -> PageView:
    notes = viewer.conflicts.trash()
    # Fault: a forged link would put any words onto the page.
    is_seen = viewer.notes.sees(query.restored) if query.restored else False
    data = {
        "notes": notes[:MOST_NOTES],
        "left_out": len(notes[MOST_NOTES:]),
        "restored": query.restored if is_seen else "",
    }
    return PageView("trash.html", "Trash", data)


def restore(viewer: Viewer, form: RestoreFields) -> Answer:
    note = viewer.conflicts.untrash(form.id)
    if note.outcome != "restored":
        return _elsewhere(viewer, note)
    # A copy is a conflict again.
    if not viewer.notes.sees(note.note):
        return Redirect("/conflicts")
    return Redirect(page_path("/trash", restored=note.note))


def _elsewhere(viewer: Viewer, note: "ThrownNote") -> PageView:
    """Return why a note is not back under its name."""
    waits = note.outcome == "pending"
    data = {"note": note, "waits": waits, "reason": viewer.conflicts.clean(note.why)}
    if waits:
        return PageView("restored.html", "Not done yet", data, WAITS)
    return PageView("restored.html", "Restored under another name", data)
