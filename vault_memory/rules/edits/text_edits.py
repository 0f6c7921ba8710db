"""Editing a note as a text: what Anthropic's memory tool asks for, worked out on the bytes that stand there.

An edit is JSON, for it waits in the journal like any op: `create`, `str_replace`, `insert`, `delete`, and `rename`,
which is two edits: with a text the note arrives under its new name, without one it leaves the old. Only what an edit
names changes; a line that comes in ends as the note's other lines do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vault_memory.markdown.note_items import line_end

NAMES = ("create", "str_replace", "insert", "delete", "rename")

Reason = Literal[
    "absent", "exists", "no_match", "several", "line_range", "moved", "not_text"
]


@dataclass(frozen=True, slots=True)
class Edited:
    """A note after an edit."""

    after: bytes | None
    """None: there is no note any more"""
    line: int = 0
    """the first line that changed, counted from 0"""


@dataclass(frozen=True, slots=True)
class Unfit:
    """An edit that cannot be made on a text, and why."""

    reason: Reason
    lines: tuple[int, ...] = ()
    """with `several`: where; with `line_range`: how many there are"""


def edit_text(edit: Mapping[str, object], before: bytes | None) -> Edited | Unfit:
    """What an edit makes of a note; None is one that is not there."""
    name = edit.get("op")
    if "file_text" in edit:
        return (
            Unfit("exists")
            if before is not None
            else Edited(str(edit["file_text"]).encode())
        )
    if before is None:
        return Unfit("absent")
    if name == "str_replace":
        return _replaced(
            before, str(edit.get("old_str", "")), str(edit.get("new_str", ""))
        )
    if name == "insert":
        line, follows = edit.get("insert_line"), edit.get("follows")
        return _inserted(
            before,
            line if isinstance(line, int) else -1,
            str(edit.get("insert_text", "")),
            follows if isinstance(follows, str) else None,
        )
    return Edited(None)


def text_of(raw: bytes) -> str:
    """A note's text as a model is shown it: lines end with LF, and there is no byte order mark."""
    return raw.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def line_before(text: str, line: int) -> str:
    """The line after which an insertion at `line` goes; empty for the beginning."""
    lines = text.split("\n")
    return lines[line - 1] if 0 < line <= len(lines) else ""


def _replaced(before: bytes, old: str, new: str) -> Edited | Unfit:
    raw = _text(before)
    if raw is None:
        return Unfit("not_text")
    if "\r\n" in raw and old not in raw:
        old = old.replace("\n", "\r\n")
    if not old or (count := raw.count(old)) == 0:
        return Unfit("no_match")
    if count > 1:
        return Unfit("several", _lines_with(raw, old))
    at = raw.index(old)
    after = raw[:at] + _ended_as(new, before) + raw[at + len(old) :]
    return Edited(after.encode(), raw.count("\n", 0, at))


def _inserted(
    before: bytes, line: int, text: str, follows: str | None
) -> Edited | Unfit:
    raw = _text(before)
    if raw is None:
        return Unfit("not_text")
    lines = _lines(raw)
    if not 0 <= line <= len(lines):
        return Unfit("line_range", (len(lines),))
    if (
        follows is not None
        and line
        and lines[line - 1].rstrip("\r\n").removeprefix("\ufeff") != follows
    ):
        same = [
            at for at, other in enumerate(lines, 1) if other.rstrip("\r\n") == follows
        ]
        if len(same) != 1:
            return Unfit("moved")
        line = same[0]
    eol = line_end(before).decode()
    fresh = _ended_as(text.rstrip("\n"), before)
    head, tail = "".join(lines[:line]), "".join(lines[line:])
    if not line and head + tail[:1] == "\ufeff":
        head, tail = "\ufeff", tail[1:]
    if head.removeprefix("\ufeff") and not head.endswith(("\n", "\r")):
        return Edited((head + eol + fresh).encode(), line)
    return Edited((head + fresh + eol + tail).encode(), line)


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _lines(raw: str) -> list[str]:
    """The lines with their LF."""
    lines = raw.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _ended_as(text: str, before: bytes) -> str:
    """A text with the line ends of the note it goes into."""
    eol = line_end(before).decode()
    return text if eol == "\n" else text.replace("\r\n", "\n").replace("\n", eol)


def _lines_with(raw: str, old: str) -> tuple[int, ...]:
    """In which lines a text begins, each time it does, counted from 1."""
    found, at = [], raw.find(old)
    while at >= 0:
        found.append(raw.count("\n", 0, at) + 1)
        at = raw.find(old, at + 1)
    return tuple(found)
