"""The text of one item: its marker, the box of a task, its first paragraph, and escapes.

The text of an item is what a reader sees: `24. Dezember` is written as ``- 24\\. Dezember``,
because without the backslash it would be an item of a nested list.
"""

import re
from typing import NamedTuple

_BOX = r"\[([^\[\]\\\r\n])\]"
MARKER = re.compile(
    rf"[ \t]*+(?:[-*+]|[0-9]{{1,9}}[.)])(?:[ \t]++|$)(?:{_BOX.replace('(', '(?:')}(?:[ \t]++|$))?"
)
"""The marker of an item, with the box of a task. Themes of Obsidian have boxes with any letter"""

BLOCK_ID = re.compile(r"(?<![ \t])[ \t]++\^([A-Za-z0-9-]++)[ \t]*+$", re.MULTILINE)

_BOX_OF_LINE = re.compile(rf"{_BOX}(?:[ \t]+|$)")
_LETTER = rb"(?:[^\x80-\xff\[\]\\\r\n]|[\xc2-\xf4][\x80-\xbf]{1,3})"
_MARKER_OF_BYTES = re.compile(
    rb"([ \t]*+(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]++|(?=[\r\n]|$)))"
    rb"(\[" + _LETTER + rb"\](?:[ \t]++|(?=[\r\n]|$)))?"
)
_LIKE_MARKER = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]|$)")
_ESCAPED = re.compile(r"(?:\\[-+*]|[0-9]{1,9}\\[.)])(?=[ \t]|$)|\\[>#]")
_DASHES = re.compile(r"(?:-(?:[ \t]+|$))+")
_BLOCK = (
    rb"[ \t]*+(?:`{3}|~{3}|>|\||!\[|%%|\$\$"
    rb"|<(?:[/!?]|[A-Za-z][A-Za-z0-9-]*(?:[ \t\r\n/>]|$)))"
)
_BEGINS_BLOCK = re.compile(_BLOCK)
_ENDS_PARAGRAPH = re.compile(
    _BLOCK + rb"|[ \t]*+(?:[\r\n]|$|#{1,6}(?:[ \t\r\n]|$)|\^[A-Za-z0-9-]++[ \t]*+[\r\n]*+$"
    rb"|(?:=+|-+|(?:[-*_][ \t]*+){3,}+)[ \t]*+[\r\n]*+$"
    # Fields of Dataview, and properties, dates and drawers of Logseq
    rb"|[^:\r\n]{1,80}::(?:[ \t\r\n]|$)|:[A-Z]+:|(?:SCHEDULED|DEADLINE|CLOSED): <)"
)
_TAIL = re.compile(rb"(?:(?<![ \t])[ \t]++\^[A-Za-z0-9-]++[ \t\r\n]*+|(?<![ \t\r\n])[ \t\r\n]*+)\Z")


class OwnParts(NamedTuple):
    """The bytes of an item without its nested items; joined in order they are the item."""

    marker: bytes
    """With the indent and the blanks after it; empty for a text without marker"""
    box: bytes
    """Of a task, with the blanks after it"""
    paragraph: bytes
    """The first paragraph"""
    tail: bytes
    """The block id, blanks and line end after the paragraph"""
    below: bytes
    """Further paragraphs, fences, quotes, tables, pictures, properties"""


def parts_of(own: bytes) -> OwnParts:
    """Return the parts of an item's own lines."""
    match = _MARKER_OF_BYTES.match(own)
    marker, box = match.groups(b"") if match else (b"", b"")
    start = len(marker) + len(box)
    lines = own[start:].splitlines(keepends=True)
    end = start
    for number, line in enumerate(lines):
        # A marker alone may have its paragraph on the next line.
        if number and end > start and _ENDS_PARAGRAPH.match(line):
            break
        end += len(line)
    tail = _TAIL.search(own[start:end])
    text_end = start + tail.start() if tail else end
    return OwnParts(marker, box, own[start:text_end], own[text_end:end], own[end:])


def rewritten(old: OwnParts, line: str) -> bytes | None:
    """Return an item's own lines with another first paragraph; None where that would break them."""
    # Fault: the line would open a fence around the rest of the item, or leave half of one.
    has_more = bool(old.below.strip()) or len(old.paragraph.splitlines()) > 1
    if has_more and any(map(_BEGINS_BLOCK.match, (old.paragraph, line.encode()))):
        return None
    marker = old.marker if old.marker.endswith((b" ", b"\t")) else old.marker + b" "
    if not split_box(line)[0]:
        marker += old.box
    return written_item(marker, line) + tail_after(line, old) + old.below


def ticked(old: OwnParts, box: str) -> bytes:
    """Return an item's own lines with another letter in the box; all else stays."""
    marker = old.marker if old.marker.endswith((b" ", b"\t")) else old.marker + b" "
    blanks = old.box.partition(b"]")[2] or b" "
    new_box = f"[{box}]".encode() + blanks
    return marker + new_box + old.paragraph + old.tail + old.below


def tail_after(line: str, old: OwnParts) -> bytes:
    """Return the tail of an item for a new paragraph, which may bring a block id of its own."""
    if not BLOCK_ID.search(line):
        return old.tail
    return old.tail[len(old.tail.rstrip()) :]


def written_item(marker: bytes, line: str) -> bytes:
    """Return an item of one line. Where the marker has a box, no text is taken for a marker."""
    has_box = marker.rstrip().endswith(b"]")
    return marker + (line if has_box else escaped(line)).encode()


def marker_end(own: bytes) -> int:
    """Return where the text of an item begins: after its indent, marker and box."""
    match = _MARKER_OF_BYTES.match(own)
    return match.end() if match else 0


def marker_and_box(own: bytes) -> tuple[int, str]:
    """Return where the text of an item begins, and the letter in the box of a task."""
    match = _MARKER_OF_BYTES.match(own)
    if not match:
        return 0, ""
    return match.end(), match[2].decode()[1:2] if match[2] else ""


def split_box(line: str) -> tuple[str, str]:
    """Return the letter in the box of a task, and the text after it; no box is ``""``."""
    match = _BOX_OF_LINE.match(line)
    return (match[1], line[match.end() :]) if match else ("", line)


def is_open(box: str) -> bool:
    """Return whether a task with this letter in its box waits to be done."""
    return box in ("", " ")


def without_dash(line: str) -> str:
    """Return a text without the dashes in front, the marker that models like to add."""
    match = _DASHES.match(line)
    return line[match.end() :] if match else line


def without_marker(line: str, marker: bytes) -> str:
    """Return a text without this marker of its list; a text that is no more than a marker stays."""
    sign, blank, text = line.partition(" ")
    is_marker = bool(blank and text.strip()) and sign == marker.strip().decode()
    return text.strip() if is_marker else line


def escaped(text: str) -> str:
    """Return a text as an item has it: what looks like a nested item gets a backslash."""
    match = _LIKE_MARKER.match(text)
    return f"{text[: match.end() - 1]}\\{text[match.end() - 1 :]}" if match else text


def unescaped(text: str) -> str:
    """Return the text of an item without the backslash that keeps it from being a nested item."""
    match = _ESCAPED.match(text)
    return text[: match.end() - 2] + text[match.end() - 1 :] if match else text
