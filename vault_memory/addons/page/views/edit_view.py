"""Edit: a whole note as a text, saved with a merge of what came meanwhile."""

import base64
import binascii
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from vault_memory.addons.page import diffs
from vault_memory.addons.page.forms import OPEN_AGAIN
from vault_memory.addons.page.note_html.hidden_letters import Exact
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect, note_path
from vault_memory.addons.page.textarea import bytes_of, form_text
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import answer_of
from vault_memory.edits.edit_errors import NoteGone, SaveConflict
from vault_memory.errors import NoteNotFound, UsageError

if TYPE_CHECKING:
    from vault_memory.search.note_reports import NoteText

CONFLICT = 409


class EditFields(msgspec.Struct):
    """The fields of `/edit/PATH`."""

    note: str
    base: str = ""
    """the revision that an open tab shows: it asks whether the note is another one by now"""


class SaveFields(msgspec.Struct):
    """The form of the button Save."""

    note: str
    text: str
    base: str
    """the bytes that the form showed, as base64: browsers change line ends in any field"""
    revision: str
    """their SHA-256; empty for a new note"""


def show(viewer: Viewer, query: EditFields) -> PageView:
    note = viewer.notes.read(query.note)
    reason = viewer.notes.why_not_editable(note.raw)
    if reason:
        return PageView("not_editable.html", _title(note.note), _frame(note, reason))
    data = _form(note.note, note.raw, form_text(note.raw))
    data["disk_change"] = _disk_change(viewer, note, query.base)
    return PageView("edit.html", _title(note.note), data)


def save(viewer: Viewer, form: SaveFields) -> Answer:
    path = viewer.notes.path(form.note)
    base = _base(form)
    text = bytes_of(form.text, base)
    try:
        edit = viewer.notes.save(path, text, base)
    except SaveConflict as conflict:
        return _conflict(path, form, conflict)
    except NoteGone as error:
        return _gone(path, form, error)
    to = note_path(path, saved="edit")
    # Fault: "saved" after nothing was typed looks as if something had been changed.
    if text == base:
        return Redirect(note_path(path, saved="unchanged"))
    if edit.from_disk and edit.audit_id:
        viewer.shared.keep_from_disk(edit.audit_id, edit.from_disk)
    return answer_of(edit, to)


def _base(form: SaveFields) -> bytes:
    """Returns the bytes that the form showed. Raises UsageError when they are damaged."""
    try:
        base = base64.b64decode(form.base, validate=True)
    except (binascii.Error, ValueError):
        base = None
    # Fault: with another base, the merge would take lines of others for deleted ones.
    if base is None or ((base or form.revision) and _revision(base) != form.revision):
        raise UsageError("the form lacks the text that it showed", hint=OPEN_AGAIN)
    return base


def _conflict(path: str, form: SaveFields, conflict: SaveConflict) -> PageView:
    """Returns the three texts; the box has what was typed, based on what is on disk now."""
    data = _form(path, conflict.on_disk, _typed(form))
    data |= {
        "message": conflict.message,
        "hint": conflict.hint,
        "on_disk": _text(conflict.on_disk),
        "yours": _text(conflict.yours),
        "opened": _text(conflict.base),
        "disk_change": None,
    }
    return PageView("edit_conflict.html", _title(path), data, CONFLICT)


def _gone(path: str, form: SaveFields, error: NoteGone) -> PageView:
    """Returns what was typed in a form that saves it as a new note."""
    data = _form(path, b"", _typed(form))
    data |= {"message": error.message, "hint": error.hint, "disk_change": None}
    return PageView("edit_gone.html", _title(path), data, CONFLICT)


def _typed(form: SaveFields) -> str:
    """Returns what was typed, as the box is given it: a browser posts CRLF."""
    return form_text(form.text.encode("utf-8", "replace"))


def _form(path: str, base: bytes, text: str) -> dict[str, Any]:
    """Returns what the form with the box needs."""
    return {
        "note": path,
        "text": Exact(text),
        "base": base64.b64encode(base).decode(),
        "revision": _revision(base) if base else "",
    }


def _disk_change(viewer: Viewer, note: "NoteText", base: str) -> list[diffs.DiffLine] | None:
    """Returns what changed on disk since an open tab read the note; None for no change."""
    if base in ("", note.revision):
        return None
    try:
        opened = viewer.notes.version(note.note, base)
    except (NoteNotFound, UsageError):
        # Versions that nobody wrote through the program are not stored.
        return diffs.lines("", note.text)
    return diffs.lines(opened.text, note.text)


def _frame(note: "NoteText", reason: str) -> dict[str, Any]:
    return {"note": note.note, "reason": reason}


def _title(note: str) -> str:
    return f"Edit {note}"


def _revision(raw: bytes) -> str:
    return sha256(raw).hexdigest()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
