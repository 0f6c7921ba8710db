"""What an edit came to, as the answer to its form: done, waiting or refused."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from vault_memory.addons.page.forms import AskedFields
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect, note_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.errors import UsageError
from vault_memory.rules.edits.op_words import explained, in_words, reason_words

if TYPE_CHECKING:
    from vault_memory.contract.answers import RememberedJson
    from vault_memory.edits.edit_result import Edit

WAITS = 202
REFUSED = 409
_WAIT_HINT = "Leave the note alone for a moment: the change is made by itself"
_OTHER_HINT = "Open the note, see how it is now, and try again"


class Refusal(NamedTuple):
    """An op that was not carried out."""

    op: str
    reason: str
    hint: str


_SECRET = Refusal(
    "It tells a password or a key, which would be in each prompt and on each device.",
    "Nothing was changed.",
    "Go back and leave it out, or keep it.",
)


def answer_of(edit: "Edit", to: str) -> Answer:
    """Return the next view: `to` with the notice of the record, or why nothing was changed.

    Raises UsageError for a `to` that leads away from the page.
    """
    if edit.pending:
        refusals = list(_pending(edit))
        return _outcome("Not done yet", WAITS, edit.note, refusals, to)
    has_effect = bool(edit.applied or edit.proposed)
    if edit.rejected and not has_effect:
        return _outcome("Not done", REFUSED, edit.note, list(_rejected(edit)), to)
    return Redirect(own_path(to), edit.audit_id or "")


def own_path(to: str) -> str:
    """Return a path of the page. Raises UsageError for another one."""
    # Fault: a forged `to` would send the browser to another site after the POST, which
    # browsers also find behind `//` and `/\`.
    is_own = to.startswith("/") and not to.startswith(("//", "/\\"))
    if not is_own or not to.isprintable():
        raise UsageError(
            "the form leads away from the page",
            hint="open the view again, and press the button there",
        )
    return to


def secret_question(viewer: Viewer, action: str, form: object) -> PageView | None:
    """Return the question whether to keep a secret, if there is one."""
    if not isinstance(form, AskedFields) or form.keep_secret:
        return None
    if not viewer.tells_secret(*form.words()):
        return None
    fields = msgspec.to_builtins(form) | {"keep_secret": True}
    note = fields.get("note", "")
    to = fields.get("to") or note_path(note)
    again = {"action": action, "fields": fields}
    return _outcome("Not done yet", REFUSED, note, [_SECRET], to, again)


def not_remembered(text: str, remembered: "RememberedJson", to: str) -> PageView:
    """Return why a text was not remembered, or not yet."""
    words = explained(remembered["outcome"], None) or reason_words(remembered["reason"])
    return _outcome("Not done", WAITS, remembered["note"], [_refusal(text, words)], to)


def _outcome(
    title: str,
    status: int,
    note: str,
    refusals: list[Refusal],
    to: str,
    again: Mapping[str, Any] | None = None,
) -> PageView:
    data = {"note": note, "refusals": refusals, "to": own_path(to), "again": again}
    return PageView("outcome.html", title, data, status)


def _pending(edit: "Edit") -> Iterator[Refusal]:
    for op in edit.pending:
        reason = op.explanation or op.reason
        yield Refusal(in_words(op.op), f"It waits: {reason}", _WAIT_HINT)


def _rejected(edit: "Edit") -> Iterator[Refusal]:
    for op in edit.rejected:
        yield _refusal(in_words(op.op), reason_words(op.reason, op.headings))


def _refusal(op: str, words: str) -> Refusal:
    """Return a refusal for the reason and the next step, each as a sentence."""
    reason, _, hint = (part[:1].upper() + part[1:] for part in words.partition("; "))
    return Refusal(op, reason, hint or _OTHER_HINT)
