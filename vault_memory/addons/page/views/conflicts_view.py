"""Conflict copies and the trash: texts beside notes, deleted notes, and how to have them back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from vault_memory.addons.page.forms import IdFields, NoFields, bytes_of, decoded, encoded, form_text
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import REFUSED, WAITS, answer_of
from vault_memory.addons.page.wording import author_of, note_title
from vault_memory.edits.conflict_copies import find_copy
from vault_memory.edits.edit_errors import SaveConflict
from vault_memory.edits.note_access import CURATED
from vault_memory.rules.edits.op_words import reason_words
from vault_memory.rules.edits.text_edits import why_not_editable

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.reports import ThrownNote


INBOX = "/inbox"
DONE = ("merged", "taken", "discarded")
MERGEABLE = ("identical", "contained", "mergeable")


def row_of(viewer: Viewer, copy: "ConflictCopy") -> dict[str, Any]:
    """Return a copy for a template: its places that nobody decided yet, and what can be done."""
    is_log = copy.note.endswith(".jsonl") and copy.current is not None
    why = reason_words(viewer.vault.clean(copy.why).partition(", and a person")[0])
    return {
        "id": copy.id,
        "note": copy.note,
        "program": copy.program,
        "date": copy.date,
        "why": f"{why[:1].upper()}{why[1:]}",
        "places": copy.places,
        "can_merge": copy.state in MERGEABLE,
        "can_keep_both": copy.state == "conflict" and copy.folded.result is not None,
        "can_take": copy.revision and not is_log,
        "can_discard": copy.revision,
    }


def hand_text(copy: "ConflictCopy") -> dict[str, str] | None:
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


def hand_text_of(text: bytes, base: bytes) -> dict[str, str]:
    """Return a text for the text field; `base` is the note that it will replace."""
    return {"text": form_text(text), "shown": encoded(text), "base": encoded(base)}


def _merged(copy: "ConflictCopy") -> bytes | None:
    # The merge of a log has only the records that the log lacks.
    if copy.note.endswith(".jsonl"):
        return None
    if copy.folded.result is None and copy.state in MERGEABLE and copy.current:
        return copy.current.raw
    return copy.folded.result


class PlaceFields(msgspec.Struct):
    """A place of a conflict copy, and what stays there."""

    id: str
    place: str
    choice: Literal["keep", "take", "both"]


class HandFields(msgspec.Struct):
    """The form of *By hand*."""

    id: str
    text: str
    shown: str
    """the bytes that the text field showed, in base64"""
    base: str
    """the bytes of the note, in base64"""


def show_all(viewer: Viewer, query: NoFields) -> Redirect:
    return Redirect(INBOX)


def show(viewer: Viewer, query: IdFields) -> PageView:
    copy = find_copy(viewer.calls.conflicts(), query.id)
    return _view(viewer, copy, hand_text(copy))


def merge(viewer: Viewer, form: IdFields) -> Answer:
    return _answer(viewer, viewer.calls.conflicts.merge([form.id], both=False))


def keep_both(viewer: Viewer, form: IdFields) -> Answer:
    return _answer(viewer, viewer.calls.conflicts.merge([form.id], both=True))


def settle_place(viewer: Viewer, form: PlaceFields) -> Answer:
    results = viewer.calls.conflicts.settle_place(form.id, form.place, form.choice)
    return _answer(viewer, results, page_path(f"/conflicts/{form.id}"))


def take(viewer: Viewer, form: IdFields) -> Answer:
    return _answer(viewer, viewer.calls.conflicts.take(form.id))


def discard(viewer: Viewer, form: IdFields) -> Answer:
    return _answer(viewer, viewer.calls.conflicts.discard([form.id]))


def save_by_hand(viewer: Viewer, form: HandFields) -> Answer:
    copy = find_copy(viewer.calls.conflicts(), form.id)
    text = bytes_of(form.text, decoded(form.shown))
    try:
        edit = viewer.note(copy.note).edits.save(text=text, base=decoded(form.base))
    except SaveConflict as error:
        # The typed text stays in the box. Saved again, it replaces what is on the disk now.
        hand = hand_text_of(text, error.on_disk)
        return _view(viewer, copy, hand, error)
    answer = answer_of(edit, INBOX)
    # Fault: the text waits or was refused. Without the copy, its lines would be lost.
    if not isinstance(answer, Redirect):
        return answer
    return _answer(viewer, viewer.calls.conflicts.discard([copy.id]), record_id=edit.audit_id or "")


def _view(
    viewer: Viewer,
    copy: "ConflictCopy",
    hand: dict[str, str] | None,
    error: SaveConflict | None = None,
) -> PageView:
    disk = error.on_disk.decode("utf-8", "replace") if error else ""
    yours = error.yours.decode("utf-8", "replace") if error else ""
    data = {"row": row_of(viewer, copy), "hand": hand, "error": error, "disk": disk, "yours": yours}
    status = error.http_status if error else 200
    return PageView("conflict.html", f"{note_title(copy.note)}: which is right?", data, status)


def _answer(
    viewer: Viewer, results: "Sequence[ResolvedConflict]", open_at: str = "", record_id: str = ""
) -> Answer:
    """Return where a person goes on; `open_at` is the view of a copy that has more places."""
    to = INBOX
    for result in results:
        if result.edit is not None:
            record_id = result.edit.audit_id or record_id
        if result.outcome == "settled":
            to = open_at
        elif result.outcome not in DONE:
            return _unresolved(viewer, result)
    # A copy that vanished meanwhile is a conflict no more.
    return Redirect(to, record_id)


def _unresolved(viewer: Viewer, result: "ResolvedConflict") -> PageView:
    waits = result.outcome == "pending"
    reason = viewer.vault.clean(result.why or result.copy.why)
    data = {
        "row": row_of(viewer, result.copy),
        "reason": reason,
        "waits": waits,
        "is_changed": result.outcome == "changed",
    }
    title = "Not done yet" if waits else "Not done"
    return PageView("unresolved.html", title, data, WAITS if waits else REFUSED)


MOST_NOTES = 200


class TrashFields(msgspec.Struct):
    """The fields of `/trash`."""

    restored: str = ""
    """the note that was just restored"""


def show_trash(viewer: Viewer, query: TrashFields) -> PageView:
    notes = viewer.calls.conflicts.trash()
    # Fault: a forged link would put any words onto the page.
    data = {
        "notes": notes[:MOST_NOTES],
        "who": {
            record.note: author_of(record.source)
            for record in viewer.calls.log()
            if not record.after
        },
        "left_out": len(notes[MOST_NOTES:]),
        "restored": query.restored if viewer.vault.scope_of(query.restored) else "",
    }
    return PageView("trash.html", "Trash", data)


def restore(viewer: Viewer, form: IdFields) -> Answer:
    note = viewer.calls.conflicts.untrash(form.id)
    if note.outcome != "restored":
        return _elsewhere(viewer, note)
    # A copy is a conflict again.
    if not viewer.vault.scope_of(note.note):
        return Redirect(INBOX)
    return Redirect(page_path("/trash", restored=note.note))


def _elsewhere(viewer: Viewer, note: "ThrownNote") -> PageView:
    """Return why a note is not back under its name."""
    waits = note.outcome == "pending"
    data = {"note": note, "waits": waits, "reason": viewer.vault.clean(note.why)}
    if waits:
        return PageView("restored.html", "Not done yet", data, WAITS)
    return PageView("restored.html", "Restored under another name", data)
