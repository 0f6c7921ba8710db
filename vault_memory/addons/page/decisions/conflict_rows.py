"""Conflict copies as the page shows them: both sides, the merge, and what can be done."""

from base64 import b64decode, b64encode
from binascii import Error
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.addons.page.forms import OPEN_AGAIN
from vault_memory.addons.page.records.changed_lines import ChangedLines, read_diff
from vault_memory.addons.page.textarea import form_text
from vault_memory.edits.note_access import CURATED
from vault_memory.errors import UsageError
from vault_memory.rules.edits.text_edits import why_not_editable

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy
    from vault_memory.markdown.merging.three_way import Conflict

LONGEST_TEXT = 262_144
"""Letters of a text that a view shows"""
MERGEABLE = ("identical", "contained", "mergeable")


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
