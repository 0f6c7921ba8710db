"""Reads items: their positions in a section, and the metadata that the bot writes into them.

    - [relationship] Worries about work — "my boss is terrible" (2026-02-03, ref:1301, origin:talk)

Every part but the text is optional, and a person may write any sentence instead. So reading never
fails, and unknown parts stay in the text.
"""

import datetime
import re
from collections.abc import Callable
from typing import NamedTuple

from vault_memory.markdown import letters
from vault_memory.markdown.item_text import BLOCK_ID, MARKER, escaped, unescaped

_NESTED = re.compile(r"\n[ \t]+(?:[-*+]|\d{1,9}[.)])[ \t]")
_TYPE = re.compile(r"\[([^\W\d_][\w -]{1,39})\](?![(\[:])[ \t]*")
_EVIDENCE = re.compile(r"[ \t](?:—|–|--?)[ \t]+[\"“„]([^\"“”„]+)[\"”“]$")
_SESSION = re.compile("[0-9a-f]{10}")
_TRAILING = re.compile(r"(?:^|[ \t])\(([^()]*)\)$")


class Item(NamedTuple):
    """The bytes of a list item: marker, text, continuation lines and nested children."""

    start: int
    end: int
    """With its last line end, without the blank lines after it"""
    depth: int
    """1 at the top; a nested item follows its parent and is inside it"""


class ItemFields(NamedTuple):
    """The text of an item and its metadata."""

    text: str
    type: str = ""
    evidence: str = ""
    date: datetime.date | None = None
    ref: str = ""
    origin: str = "owner"
    conf: float = 1.0
    topic: str = ""
    until: datetime.date | None = None
    confirmed: bool = False
    supersedes: str = ""
    unclear: str = ""
    """The id of an item that contradicts this one, until a person decides"""
    session: str = ""
    """10 hexadecimal digits of a conversation"""
    block_id: str = ""


def parse_item(text: str) -> ItemFields:
    """Read an item, with or without its marker. Nested items are ignored."""
    text, block_id = _own_text(text)
    text, metadata = split_metadata(text)
    type_ = _TYPE.match(text)
    if type_:
        text = text[type_.end() :]
    evidence = _EVIDENCE.search(text)
    if evidence:
        text = text[: evidence.start()].rstrip()
    return ItemFields(
        text=text,
        type=type_[1].strip() if type_ else "",
        evidence=evidence[1] if evidence else "",
        date=day(metadata.get("date", "")),
        ref=metadata.get("ref", ""),
        origin=metadata.get("origin", "owner"),
        conf=_share(metadata.get("conf", "1")),
        topic=metadata.get("topic", ""),
        until=day(metadata.get("until", "")),
        confirmed="confirmed" in metadata,
        supersedes=metadata.get("supersedes", ""),
        unclear=metadata.get("unclear", ""),
        session=metadata.get("session", ""),
        block_id=block_id,
    )


def normalised(text: str) -> str:
    """Return the text by which items are compared.

    Marker, trailing metadata, case, blanks and full stop do not count.
    """
    text, _ = split_metadata(_own_text(text)[0])
    text = text.lower() if text.isascii() else letters.without_case(text)
    return text.rstrip(" .。")


def parse_text(text: str) -> ItemFields:
    """Read the text of an item: `24. Dezember` is a day, not the 24th item of a list."""
    return parse_item(_without_marker(text))


def text_in_id(text: str) -> str:
    """Return what `normalised` returns for an item with this text.

    Ids are in audits and in INBOX.md, and people note them down. So this form never changes.
    """
    return normalised(_without_marker(text))


def normalised_text(text: str) -> str:
    """Return the text by which an item is recognised, in any code points."""
    normal = text_in_id(text)
    return normal if normal.isascii() else recognised(normal)


def recognised(normal: str) -> str:
    """Return a normalised text of an audit in the form of today."""
    return letters.folded(normal).rstrip(" .。")


def _without_marker(text: str) -> str:
    # Nothing but a marker begins with a dash and a blank.
    return text if text.startswith("-") else escaped(text)


def split_metadata(text: str) -> tuple[str, dict[str, str]]:
    """Return a text without its trailing `(date, key:value, …)`, and that metadata.

    Unknown parts stay in the text.
    """
    trailing = _TRAILING.search(text)
    if not trailing:
        return text, {}
    metadata, unknown = read_metadata(trailing[1])
    if not metadata:
        return text, {}
    text = text[: trailing.start()].rstrip()
    if unknown:
        text += f" ({', '.join(unknown)})"
    return text, metadata


def read_metadata(inner: str) -> tuple[dict[str, str], list[str]]:
    """Return the metadata in the brackets after an item, and the unknown parts.

    With unknown parts and without a date, the brackets are words of a person: then there is no
    metadata.
    """
    metadata: dict[str, str] = {}
    unknown = [part for part in map(str.strip, inner.split(",")) if not _add(part, metadata)]
    if unknown and "date" not in metadata:
        return {}, unknown
    return metadata, unknown


def day(text: str) -> datetime.date | None:
    """Return a day written as `2026-01-28`, or None for anything else."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def _add(part: str, metadata: dict[str, str]) -> bool:
    """Add one part of the metadata; return whether it is known and valid."""
    key, colon, value = part.partition(":")
    if not colon:
        key = "confirmed" if part == "confirmed" else "date"
        value = part
    value = value.strip()
    is_valid = _CHECKS.get(key)
    if is_valid is None or key in metadata or not is_valid(value):
        return False
    metadata[key] = value
    return True


def _share(text: str) -> float:
    """Return a number from 0 to 1, or -1 for anything else."""
    try:
        number = float(text)
    except ValueError:
        return -1.0
    return number if 0 <= number <= 1 else -1.0


def _own_text(text: str) -> tuple[str, str]:
    """Return an item's own text in one line, without marker and block id; and the block id."""
    nested = _NESTED.search(text)
    if nested:
        text = text[: nested.start()]
    marker = MARKER.match(text)
    if marker:
        text = text[marker.end() :]
    text = unescaped(text.rstrip())
    block_id = BLOCK_ID.search(text)
    if block_id and block_id.end() == len(text):
        return " ".join(text[: block_id.start()].split()), block_id[1]
    return " ".join(text.split()), ""


_CHECKS: dict[str, Callable[[str], object]] = {
    "date": day,
    "until": day,
    "conf": lambda value: _share(value) >= 0,
    "session": _SESSION.fullmatch,
    **dict.fromkeys(["ref", "origin", "topic", "supersedes", "unclear"], bool),
    "confirmed": bool,
}
"""The known keys of metadata; each function is true for a valid value"""
