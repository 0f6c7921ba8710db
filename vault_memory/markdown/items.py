"""Items: where they stand in a section, and what a bot-written one says about itself.

    - [relationship] Worries about work — "my boss is terrible" (2026-02-03, ref:1301, origin:talk)

Every part but the text may be missing, and a person may write any sentence instead: reading never fails,
and what is not known stays text.
"""

import datetime
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from vault_memory.markdown.chunking.chunk_text import BLOCK_ID, MARKER

_NESTED = re.compile(r"\n[ \t]+(?:[-*+]|\d{1,9}[.)])[ \t]")
_TYPE = re.compile(r"\[([^\W\d_][\w -]{1,39})\](?![(\[:])[ \t]*")
_EVIDENCE = re.compile(r"[ \t](?:—|–|--?)[ \t]+[\"“„]([^\"“”„]+)[\"”“]$")
_TRAILING = re.compile(r"(?:^|[ \t])\(([^()]*)\)$")


class Item(NamedTuple):
    """A whole list item: marker, text, continuation lines and nested children, as a span of bytes."""

    start: int
    end: int
    """with its last line end, without the blank lines after it"""
    depth: int
    """1 at the top; a nested item follows its parent and lies inside it"""


class ItemFields(NamedTuple):
    """What an item says, and what stands with it."""

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
    block_id: str = ""


def parse_item(text: str) -> ItemFields:
    """Reads an item, with or without its marker; nested items are not looked at."""
    text, block_id = _own_text(text)
    text, known = split_metadata(text)
    kind = _TYPE.match(text)
    text = text[kind.end() :] if kind else text
    evidence = _EVIDENCE.search(text)
    return ItemFields(
        text=text[: evidence.start()].rstrip() if evidence else text,
        type=kind[1].strip() if kind else "",
        evidence=evidence[1] if evidence else "",
        date=day(known.get("date", "")),
        ref=known.get("ref", ""),
        origin=known.get("origin", "owner"),
        conf=_share(known.get("conf", "1")),
        topic=known.get("topic", ""),
        until=day(known.get("until", "")),
        confirmed="confirmed" in known,
        supersedes=known.get("supersedes", ""),
        block_id=block_id,
    )


def normalised(text: str) -> str:
    """The text by which items are compared: marker, trailing metadata, case, blanks and full stop do not count."""
    text, _ = split_metadata(_own_text(text)[0])
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return text.rstrip(" .。")


def split_metadata(text: str) -> tuple[str, dict[str, str]]:
    """The text without its trailing `(date, key:value, …)`, and the parts of that; unknown parts stay in the text."""
    trailing = _TRAILING.search(text)
    if not trailing:
        return text, {}
    known, unknown = read_metadata(trailing[1])
    if not known:
        return text, {}
    rest = f" ({', '.join(unknown)})" if unknown else ""
    return text[: trailing.start()].rstrip() + rest, known


def read_metadata(inner: str) -> tuple[dict[str, str], list[str]]:
    """What stands in the brackets after an item: the parts that are known, and the others.

    Nothing is known when there are others and no date: then the brackets are a person's words.
    """
    known: dict[str, str] = {}
    unknown = [
        part for part in map(str.strip, inner.split(",")) if not _take(part, known)
    ]
    return ({}, unknown) if unknown and "date" not in known else (known, unknown)


def day(text: str) -> datetime.date | None:
    """A day as `2026-01-28`, or None for anything else."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def _take(part: str, known: dict[str, str]) -> bool:
    key, colon, value = part.partition(":")
    if not colon:
        key, value = ("confirmed", part) if part == "confirmed" else ("date", part)
    value = value.strip()
    check = _CHECKS.get(key)
    if check is None or key in known or not check(value):
        return False
    known[key] = value
    return True


def _share(text: str) -> float:
    """A number from 0 to 1, or -1 for anything else."""
    try:
        number = float(text)
    except ValueError:
        return -1.0
    return number if 0 <= number <= 1 else -1.0


def _own_text(text: str) -> tuple[str, str]:
    nested = _NESTED.search(text)
    text = text[: nested.start()] if nested else text
    marker = MARKER.match(text)
    text = (text[marker.end() :] if marker else text).rstrip()
    block_id = BLOCK_ID.search(text)
    if block_id and block_id.end() == len(text):
        return " ".join(text[: block_id.start()].split()), block_id[1]
    return " ".join(text.split()), ""


_CHECKS: dict[str, Callable[[str], object]] = {
    "date": day,
    "until": day,
    "conf": lambda value: _share(value) >= 0,
    **dict.fromkeys(["ref", "origin", "topic", "supersedes"], bool),
    "confirmed": bool,
}
"""What makes a part of the metadata one that is known."""
