"""Finding what was meant in what a model wrote: JSON in fences and among words, sections by their names, points."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MOST_STARTS = 64
"""Places at which a JSON value is looked for"""
LONGEST = 1 << 20
"""Characters of an answer that are looked at"""

_THOUGHTS = re.compile(  # some servers swallow the opening mark
    r"\A\s*(?:<(think|thinking|reasoning)>.*?(?:</\1>|\Z)|[^{}]*?</(?:think|thinking)>)",
    re.DOTALL | re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_NAME = r"(?:#{1,6}[ \t]*)?[*_=\-\[ \t]*(MEMORIES|FACTS|TOPICS|OPS)[*_=\-\] \t]*"
_HEAD = re.compile(rf"[ \t]*{_NAME}:[*_]*[ \t]*(.*)")
_BARE_HEAD = re.compile(rf"[ \t]*{_NAME}:?[*_ \t]*()", re.IGNORECASE)
_POINT = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+")


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON value that stood in an answer."""

    value: Any
    whole: bool
    """it was all of the answer"""


@dataclass(frozen=True, slots=True)
class Block:
    """A point of a list with its further lines, or a paragraph."""

    text: str
    point: bool


def without_thoughts(text: str) -> str:
    """What a model answers after thinking aloud."""
    return _THOUGHTS.sub("", text[:LONGEST].removeprefix("\ufeff")).strip()


def json_in(text: str, keys: Collection[str], *, lists: bool = False) -> Found | None:
    """The first JSON object that has one of the keys; with `lists`, or without keys, any list or object."""
    stripped = text.strip()
    for value in _whole(stripped):
        return (
            Found(value, True)
            if _fits(value, keys, lists)
            else _within(stripped, keys, lists)
        )
    for fenced in _FENCE.findall(stripped):
        for value in _whole(fenced.strip()):
            if _fits(value, keys, lists):
                return Found(value, False)
    return _within(stripped, keys, lists)


def _whole(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        return


def _within(text: str, keys: Collection[str], lists: bool) -> Found | None:
    decoder, at = json.JSONDecoder(), 0
    for _ in range(MOST_STARTS):
        starts = [
            place
            for mark in ("{[" if lists else "{")
            if (place := text.find(mark, at)) >= 0
        ]
        if not starts:
            return None
        at = min(starts)
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if _fits(value, keys, lists):
            return Found(value, False)
        at = at + 1 if isinstance(value, dict) else end
    return None


def _fits(value: object, keys: Collection[str], lists: bool) -> bool:
    if isinstance(value, list):
        return lists and (not value or any(isinstance(row, Mapping) for row in value))
    return isinstance(value, dict) and (not keys or any(key in value for key in keys))


def sections_in(text: str) -> dict[str, str]:
    """The bodies under the names MEMORIES, FACTS, TOPICS and OPS, by their names in small letters."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        head = _BARE_HEAD.fullmatch(line) or _HEAD.fullmatch(line)
        if head:
            current = found.setdefault(head[1].lower(), [])
            current.append(head[2])
        elif current is not None and not line.strip().startswith("```"):
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def blocks(text: str) -> Iterator[Block]:
    """Points and paragraphs in their order; a line that is set in goes on with what is above it."""
    lines: list[str] = []
    point = False
    for line in [*text.splitlines(), ""]:
        marker = _POINT.match(line)
        if (marker or not line.strip()) and lines:
            yield Block(" ".join(lines), point)
            lines, point = [], False
        if line.strip():
            point = point or marker is not None
            lines.append((line[marker.end() :] if marker else line).strip())
