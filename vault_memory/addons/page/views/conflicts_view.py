"""Conflict copies and the trash: texts beside notes, deleted notes, and how to have them back."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vault_memory.addons.page import forms
from vault_memory.addons.page.forms import OPEN_AGAIN, form_text
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.viewers.record_viewer import ChangedLines, read_diff
from vault_memory.addons.page.views.outcome import REFUSED, WAITS, answer_of
from vault_memory.edits.edit_errors import SaveConflict
from vault_memory.edits.note_access import CURATED
from vault_memory.errors import UsageError
from vault_memory.rules.edits.text_edits import why_not_editable

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.reports import ThrownNote
    from vault_memory.markdown.merging.three_way import Conflict


CONFLICTS = "/conflicts"
DONE = ("merged", "taken", "discarded")
LONGEST_TEXT = 262_144
"""Letters of a text that a view shows"""
MERGEABLE = ("identical", "contained", "mergeable")


# --- Conflict rows ---

# Conflict copies as the page shows them: both sides, the merge, and what can be done.


class ConflictPlace(NamedTuple):
    """A place that both sides changed."""

    section: str
    in_note: str
    in_copy: str


class ConflictRow(NamedTuple):
    """One conflict copy."""

    id: str
    note: str
    file_name: str
    """of the copy"""
    side: str
    """which copy this is: by program and time"""
    why: str
    places: tuple[ConflictPlace, ...]
    can_merge: bool
    can_keep_both: bool
    can_take: bool
    can_discard: bool
    diff: ChangedLines = ChangedLines()
    """from the note to the copy"""


class ConflictTexts(NamedTuple):
    """The three texts of a conflict."""

    saved: str
    """when the note was saved; ISO 8601"""
    note: str
    merged: str | None
    """None where there is no merged text"""
    copy: str


class HandText(NamedTuple):
    """A text for a person to edit, and the bytes that it is compared with."""

    text: str
    """between the tags of the text field"""
    shown: str
    """the bytes of this text, in base64"""
    base: str
    """the bytes of the note, in base64"""


def row_of(copy: "ConflictCopy") -> ConflictRow:
    """Return a copy without its texts."""
    is_mergeable = copy.state in MERGEABLE
    is_log = copy.note.endswith(".jsonl") and copy.current is not None
    return ConflictRow(
        id=copy.id,
        note=copy.note,
        file_name=copy.path.rpartition("/")[2],
        side=_side(copy),
        why=copy.why,
        places=tuple(map(_place, copy.conflicts)),
        can_merge=is_mergeable,
        can_keep_both=copy.state == "conflict" and copy.folded.result is not None,
        can_take=bool(copy.revision) and not is_log,
        can_discard=bool(copy.revision),
    )


def diff_of(copy: "ConflictCopy") -> ChangedLines:
    """Return the first lines of the diff from the note to the copy."""
    # Fault: to compare two large texts takes longer than a person waits for a list.
    if len(copy.raw) > LONGEST_TEXT:
        return ChangedLines()
    return read_diff(copy.diff.decode("utf-8", "replace"))


def texts_of(copy: "ConflictCopy") -> ConflictTexts:
    """Return the texts of the note, of the merge and of the copy."""
    note = copy.current
    saved = ""
    if note is not None:
        moment = datetime.fromtimestamp(note.stat.mtime_ns / 1e9, UTC)
        saved = moment.isoformat(timespec="seconds")
    merged = _merged(copy)
    return ConflictTexts(
        saved=saved,
        note=_text(note.raw if note else b""),
        merged=None if merged is None else _text(merged),
        copy=_text(copy.raw),
    )


def hand_text(copy: "ConflictCopy") -> HandText | None:
    """Return the merged text for a person to edit; None where only the buttons help."""
    note = copy.current
    if note is None or copy.kind not in CURATED:
        return None
    merged = _merged(copy)
    text = note.raw if merged is None else merged
    # Fault: a text field would change bytes that it cannot hold.
    if why_not_editable(note.raw) or why_not_editable(text):
        return None
    return hand_text_of(text, note.raw)


def hand_text_of(text: bytes, base: bytes) -> HandText:
    """Return a text for the text field; `base` is the note that it will replace."""
    return HandText(form_text(text), b64encode(text).decode(), b64encode(base).decode())


def decoded(field: str) -> bytes:
    """Return the bytes of a field in base64. Raises UsageError."""
    try:
        return b64decode(field, validate=True)
    except (Error, ValueError):
        raise UsageError("the form is damaged", hint=OPEN_AGAIN) from None


def _merged(copy: "ConflictCopy") -> bytes | None:
    # The merge of a log has only the records that the log lacks.
    if copy.note.endswith(".jsonl"):
        return None
    if copy.folded.result is None and copy.state in MERGEABLE and copy.current:
        return copy.current.raw
    return copy.folded.result


def _side(copy: "ConflictCopy") -> str:
    program = f"the copy of {copy.program}" if copy.program else "the copy"
    return f"{program}, {copy.date}" if copy.date else program


def _place(conflict: "Conflict") -> ConflictPlace:
    section = conflict.section or "at the top"
    if conflict.kind == "front matter":
        section = "front matter"
    return ConflictPlace(section, _text(conflict.kept).strip(), _text(conflict.other).strip())


def _text(raw: bytes) -> str:
    # Fault: a copy may be as large as a database, and a browser hangs.
    return raw[:LONGEST_TEXT].decode("utf-8", "replace")


# --- Conflicts view ---


class ConflictsFields(msgspec.Struct):
    """The fields of `/conflicts`: none."""


class ConflictFields(msgspec.Struct):
    """A conflict copy, by its id."""

    id: str


class HandFields(msgspec.Struct):
    """The form of *By hand*."""

    id: str
    text: str
    shown: str
    """the bytes that the text field showed, in base64"""
    base: str
    """the bytes of the note, in base64"""


def show_all(viewer: Viewer, query: ConflictsFields) -> PageView:
    rows = [_clean(viewer, copy)._replace(diff=diff_of(copy)) for copy in viewer.conflicts.copies()]
    return PageView("conflicts.html", "Conflicts", {"rows": rows})


def show(viewer: Viewer, query: ConflictFields) -> PageView:
    copy = viewer.conflicts.find(query.id)
    return _view(viewer, copy, hand_text(copy))


def merge(viewer: Viewer, form: ConflictFields) -> Answer:
    return _answer(viewer, viewer.conflicts.merge(form.id))


def keep_both(viewer: Viewer, form: ConflictFields) -> Answer:
    return _answer(viewer, viewer.conflicts.merge(form.id, both=True))


def take(viewer: Viewer, form: ConflictFields) -> Answer:
    return _answer(viewer, viewer.conflicts.take(form.id))


def discard(viewer: Viewer, form: ConflictFields) -> Answer:
    return _answer(viewer, viewer.conflicts.discard(form.id))


def save_by_hand(viewer: Viewer, form: HandFields) -> Answer:
    copy = viewer.conflicts.find(form.id)
    text = forms.bytes_of(form.text, decoded(form.shown))
    try:
        edit = viewer.conflicts.save(copy, text, decoded(form.base))
    except SaveConflict as error:
        # The typed text stays in the box. Saved again, it replaces what is on the disk now.
        hand = hand_text_of(text, error.on_disk)
        return _view(viewer, copy, hand, error)
    answer = answer_of(edit, CONFLICTS)
    # Fault: the text waits or was refused. Without the copy, its lines would be lost.
    if not isinstance(answer, Redirect):
        return answer
    return _answer(viewer, viewer.conflicts.discard(copy.id), edit.audit_id or "")


def _view(
    viewer: Viewer, copy: "ConflictCopy", hand: HandText | None, error: SaveConflict | None = None
) -> PageView:
    disk = error.on_disk.decode("utf-8", "replace") if error else ""
    yours = error.yours.decode("utf-8", "replace") if error else ""
    data = {
        "row": _clean(viewer, copy),
        "texts": texts_of(copy),
        "hand": hand,
        "error": error,
        "disk": disk,
        "yours": yours,
    }
    status = error.http_status if error else 200
    return PageView("conflict.html", f"Conflict in {copy.note}", data, status)


def _answer(viewer: Viewer, results: "Sequence[ResolvedConflict]", record_id: str = "") -> Answer:
    for result in results:
        if result.edit is not None:
            record_id = result.edit.audit_id or record_id
        if result.outcome not in DONE:
            return _unresolved(viewer, result)
    # A copy that vanished meanwhile is a conflict no more.
    return Redirect(CONFLICTS, record_id)


def _unresolved(viewer: Viewer, result: "ResolvedConflict") -> PageView:
    waits = result.outcome == "pending"
    reason = viewer.conflicts.clean(result.why or result.copy.why)
    data = {
        "row": _clean(viewer, result.copy),
        "reason": reason,
        "waits": waits,
        "is_changed": result.outcome == "changed",
    }
    title = "Not done yet" if waits else "Not done"
    return PageView("unresolved.html", title, data, WAITS if waits else REFUSED)


def _clean(viewer: Viewer, copy: "ConflictCopy") -> ConflictRow:
    row = row_of(copy)
    return row._replace(why=viewer.conflicts.clean(row.why))


MOST_NOTES = 200


class TrashFields(msgspec.Struct):
    """The fields of `/trash`."""

    restored: str = ""
    """the note that was just restored"""


class RestoreFields(msgspec.Struct):
    """The form of Restore."""

    id: str


def show_trash(viewer: Viewer, query: TrashFields) -> PageView:
    notes = viewer.conflicts.trash()
    # Fault: a forged link would put any words onto the page.
    is_seen = viewer.notes.sees(query.restored) if query.restored else False
    data = {
        "notes": notes[:MOST_NOTES],
        "who": viewer.conflicts.who_deleted(),
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
