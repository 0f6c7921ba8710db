"""Conflicts: copies that sync programs left beside notes, and how to resolve them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from vault_memory.addons.page import textarea
from vault_memory.addons.page.decisions.conflict_rows import (
    ConflictRow,
    HandText,
    decoded,
    diff_of,
    hand_text,
    hand_text_of,
    row_of,
    texts_of,
)
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import REFUSED, WAITS, answer_of
from vault_memory.edits.edit_errors import SaveConflict

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict

CONFLICTS = "/conflicts"
DONE = ("merged", "taken", "discarded")


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
    text = textarea.bytes_of(form.text, decoded(form.shown))
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
