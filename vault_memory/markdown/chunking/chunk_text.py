"""Defines a chunk, its embed text and its identity.

Cutting notes into chunks is in another module, which few programs need.
"""

import datetime
import re
from hashlib import sha256
from typing import NamedTuple

from vault_memory.markdown.item_text import BLOCK_ID, MARKER, unescaped

COMMENT = re.compile(r"(?<![\w%])%%(?!%).*?%%(?!\w)", re.DOTALL)
"""A comment of Obsidian, which is not searched"""

SPEAKER = re.compile(
    r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\*\*([^*\n]{1,40}?)(?::\*\*|\*\*:)[ \t]*"
)
_MARKERS = re.compile(rf"^(?:{MARKER.pattern}|[ \t]+)", re.MULTILINE)
_HEADING_MARKS = re.compile(
    r"^ {0,3}#{1,6}(?:[ \t]+|$)|(?<![ \t])[ \t]++#++[ \t]*+$|^ {0,3}(?:-+|=+)[ \t]*+$", re.MULTILINE
)


class Chunk(NamedTuple):
    """A part of a note as it is indexed."""

    text: str
    """Its lines, decoded, without the final line end; or a stretch of a line that was cut"""
    heading: tuple[str, ...]
    """The names of the headings above it, from level 1 down"""
    who: str
    """The speaker: `Ann` for ``- **Ann**: hi``; often empty"""
    first_line: int
    """1-based"""
    last_line: int
    """Inclusive"""
    date: datetime.date | None
    """From the metadata of the item"""
    topic: str
    """From the metadata of the item, or from the front matter"""


def embed_text(heading: tuple[str, ...], who: str, text: str) -> str:
    """Return the text that is embedded: heading path and speaker, then the text without marks.

    Chunks with the same embed text have the same identity.
    """
    if who and (speaker := SPEAKER.match(text)) and speaker[1].strip() == who:
        text = text[speaker.end() :]
    # The checks before the patterns are there because most texts need none of them.
    if text.startswith(("#", " ")) or text.endswith(("-", "=", "#", " ")):
        text = _HEADING_MARKS.sub("", text)
    text = _without_markers(text)
    if "^" in text:
        text = BLOCK_ID.sub("", text)
    if "%%" in text:
        text = COMMENT.sub(" ", text)
    text = text.replace("\0", "\ufffd").strip()
    if who:
        text = f"{who}: {text}"
    if heading:
        text = f"{' › '.join(heading)}\n{text}"
    return text


def _without_markers(text: str) -> str:
    """Return the texts of items without their markers and escapes."""
    if "\n" in text:
        text = _MARKERS.sub("", text)
    elif marker := MARKER.match(text):
        text = text[marker.end() :]
    if "\\" in text:
        text = "\n".join(map(unescaped, text.split("\n")))
    return text


def identity(embed_text: str) -> bytes:
    """Return the identity of a chunk, the key of its vector: SHA-256 of its exact embed text."""
    return sha256(embed_text.encode("utf-8", "surrogatepass")).digest()
