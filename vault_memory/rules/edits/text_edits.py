"""Edits a note as a text, as Anthropic's memory tool does, on the note's bytes.

An edit is JSON, because it waits in the journal like any op: `create`, `str_replace`, `insert`,
`delete` and `rename`. A rename is two edits: with a text the note arrives under its new name,
without a text it leaves the old name. Only the named text changes. New lines get the line end that
the note has.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vault_memory.markdown import encodings, letters
from vault_memory.markdown.note_items import line_end

NAMES = ("create", "str_replace", "insert", "delete", "rename")

Reason = Literal["absent", "exists", "no_match", "several", "line_range", "moved", "not_text"]

LARGEST = 256 << 10
"""Bytes of the largest note that a person edits as a whole text"""
_BYTE_ORDER_MARK = "\ufeff"
_LONE_CR = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Edited:
    """A note after an edit."""

    after: bytes | None
    """None: the note is deleted"""
    line: int = 0
    """the first line that changed, counted from 0"""


@dataclass(frozen=True, slots=True)
class Unfit:
    """An edit that does not fit a text, and why."""

    reason: Reason
    lines: tuple[int, ...] = ()
    """with `several`: the lines of the matches; with `line_range`: the number of lines"""


def edit_text(edit: Mapping[str, object], before: bytes | None) -> Edited | Unfit:
    """Applies an edit to a note; `before` is None when there is no note."""
    if "file_text" in edit:
        if before is not None:
            return Unfit("exists")
        return Edited(str(edit["file_text"]).encode())
    if before is None:
        return Unfit("absent")
    match edit.get("op"):
        case "str_replace":
            old = str(edit.get("old_str", ""))
            return _replace(before, old, str(edit.get("new_str", "")))
        case "insert":
            line = edit.get("insert_line")
            follows = edit.get("follows")
            return _insert(
                before,
                line if isinstance(line, int) else -1,
                str(edit.get("insert_text", "")),
                follows if isinstance(follows, str) else None,
            )
        case _:
            return Edited(None)


def text_of(raw: bytes) -> str:
    """Returns a note's text for a model: with LF as line end, without a byte order mark."""
    text = encodings.text_of(raw).removeprefix(_BYTE_ORDER_MARK)
    return text.replace("\r\n", "\n")


def line_before(text: str, line: int) -> str:
    """Returns the line after which an insertion at `line` goes; ``""`` for the beginning."""
    lines = text.split("\n")
    return lines[line - 1] if 0 < line <= len(lines) else ""


def _replace(before: bytes, old: str, new: str) -> Edited | Unfit:
    raw = _decode(before)
    if raw is None:
        return Unfit("not_text")
    # The model saw LF as line end, whatever the note has.
    if "\r\n" in raw and old not in raw:
        old = old.replace("\n", "\r\n")
    places = _places(raw, old)
    if not places:
        return Unfit("no_match")
    if len(places) > 1:
        lines = (raw.count("\n", 0, start) + 1 for start, _ in places)
        return Unfit("several", tuple(lines))
    [(start, end)] = places
    after = raw[:start] + _with_line_ends_of(before, new) + raw[end:]
    return Edited(after.encode(), raw.count("\n", 0, start))


def _insert(before: bytes, line: int, text: str, follows: str | None) -> Edited | Unfit:
    raw = _decode(before)
    if raw is None:
        return Unfit("not_text")
    lines = _split_lines(raw)
    if not 0 <= line <= len(lines):
        return Unfit("line_range", (len(lines),))
    if follows is not None and line:
        new_line = _line_after(lines, line, follows)
        if new_line is None:
            return Unfit("moved")
        line = new_line
    eol = line_end(before).decode()
    new_text = _with_line_ends_of(before, text.rstrip("\n"))
    head = "".join(lines[:line])
    tail = "".join(lines[line:])
    # The byte order mark must stay the first character.
    if not line and tail.startswith(_BYTE_ORDER_MARK):
        head = _BYTE_ORDER_MARK
        tail = tail[1:]
    if head.removeprefix(_BYTE_ORDER_MARK) and not head.endswith(("\n", "\r")):
        return Edited((head + eol + new_text).encode(), line)
    return Edited((head + new_text + eol + tail).encode(), line)


def _line_after(lines: list[str], line: int, follows: str) -> int | None:
    """Returns the line after the line `follows`; None when it is gone or not unique.

    A person may have moved it since the model read the note.
    """
    if lines[line - 1].rstrip("\r\n").removeprefix(_BYTE_ORDER_MARK) == follows:
        return line
    matches = [number for number, text in enumerate(lines, 1) if text.rstrip("\r\n") == follows]
    return matches[0] if len(matches) == 1 else None


def _decode(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _split_lines(raw: str) -> list[str]:
    """Returns the lines with their LF."""
    lines = raw.split("\n")
    last = lines.pop()
    complete = [line + "\n" for line in lines]
    return [*complete, last] if last else complete


def _with_line_ends_of(before: bytes, text: str) -> str:
    """Returns a text with the line ends of the note that it goes into."""
    eol = line_end(before).decode()
    if eol == "\n":
        return text
    return text.replace("\r\n", "\n").replace("\n", eol)


def _places(raw: str, old: str) -> list[tuple[int, int]]:
    """Returns where a note has a text, overlapping places included.

    A model types `'` and letters with their accents, where a note has `’` or the letters of macOS.
    """
    if not old:
        return []
    start = raw.find(old)
    if start < 0:
        return [] if raw.isascii() else letters.places(old, raw)
    if raw.count(old) == 1:
        return [(start, start + len(old))]
    starts = (at for at in range(start, len(raw)) if raw.startswith(old, at))
    return [(start, start + len(old)) for start in starts]


def why_not_editable(raw: bytes) -> str:
    """Returns why a person cannot edit these bytes as a whole text without loss, or an empty string."""
    if len(raw) > LARGEST:
        return f"it is larger than {LARGEST >> 10} KiB"
    if b"\0" in raw:
        return "it has a NUL byte"
    # Fault: a text field makes an LF of it, so an untouched line would change.
    if _LONE_CR.search(raw):
        return "it has a carriage return without a line feed"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8"
    return ""
