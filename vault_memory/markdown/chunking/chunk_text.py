"""What a chunk is, and what makes two of them the same. Apart from how notes are cut, which few programs do."""

import datetime
import re
from hashlib import sha256
from typing import NamedTuple

MARKER = re.compile(
    r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)(?:\[[ xX-]\](?:[ \t]+|$))?"
)
"""An item's marker, with the box of a task."""

BLOCK_ID = re.compile(r"[ \t]+\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)

SPEAKER = re.compile(
    r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\*\*([^*\n]{1,40}?)(?::\*\*|\*\*:)[ \t]*"
)
_MARKERS = re.compile(rf"^(?:{MARKER.pattern}|[ \t]+)", re.MULTILINE)
_HEADING_MARKS = re.compile(
    r"^ {0,3}#{1,6}(?:[ \t]+|$)|[ \t]+#+[ \t]*$|^ {0,3}(?:-+|=+)[ \t]*$", re.MULTILINE
)


class Chunk(NamedTuple):
    """A unit of a note."""

    text: str
    """its lines as they stand, decoded, without the final line end; or a part of one, when it was cut"""
    heading: tuple[str, ...]
    """the names of the headings above it, from level 1 down"""
    who: str
    """who speaks: `Ann` for ``- **Ann**: hi``; often empty"""
    first_line: int
    """1-based"""
    last_line: int
    """inclusive"""
    date: datetime.date | None
    """from the item's metadata"""
    topic: str
    """from the item's metadata, else the front matter's"""


def embed_text(heading: tuple[str, ...], who: str, text: str) -> str:
    """What is embedded, and what makes two chunks the same: heading path and speaker, then the text without marks."""
    if who and (speaker := SPEAKER.match(text)) and speaker[1].strip() == who:
        text = text[speaker.end() :]
    if text.startswith(("#", " ")) or text.endswith(("-", "=", "#", " ")):
        text = _HEADING_MARKS.sub("", text)
    if "\n" in text:
        text = _MARKERS.sub("", text)
    elif marker := MARKER.match(text):
        text = text[marker.end() :]
    if "^" in text:
        text = BLOCK_ID.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    text = f"{who}: {text.strip()}" if who else text.strip()
    return f"{' › '.join(heading)}\n{text}" if heading else text


def identity(embed_text: str) -> bytes:
    """The identity of a chunk, and the key of its vector: SHA-256 of its exact embed text."""
    return sha256(embed_text.encode("utf-8", "surrogatepass")).digest()
