"""Finds JSON, named sections and list points in the free text that a model wrote."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.rules.search.tokens import clean

MOST_STARTS = 64
"""The number of places at which a JSON value is tried"""
LONGEST = 1 << 20
"""In characters, of an answer; the text after them is ignored"""

_THOUGHTS = re.compile(  # some servers swallow the opening mark
    r"\A\s*+(?:<(think|thinking|reasoning)>.*?(?:</\1>|\Z)|[^{}]*?</(?:think|thinking)>)",
    re.DOTALL | re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_NAME = r"(?:#{1,6}[ \t]*+)?+[*_=\-\[ \t]*+(MEMORIES|FACTS|TOPICS|OPS)[*_=\-\] \t]*+"
_HEAD = re.compile(rf"[ \t]*+{_NAME}:[*_]*+[ \t]*+(.*)")
_BARE_HEAD = re.compile(rf"[ \t]*+{_NAME}:?[*_ \t]*()", re.IGNORECASE)
_TRIPLE = re.compile(r"(.+?)(?<=\S)\s++([a-z]+(?:_[a-z]+)+|[a-z]+(?=:)):?\s+(.+)", re.DOTALL)
_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
"""A string, which may be cut off, or a bracket"""
_CLOSING = {"{": "}", "[": "]"}
_POINT = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LEADING = re.compile(r"^(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JsonMatch:
    """A JSON value in an answer."""

    value: Any
    is_complete: bool
    """the answer holds nothing else"""


def without_thoughts(text: str) -> str:
    """Returns an answer without the reasoning that some models write before it."""
    # Fault: an endless answer of a model would keep the reader busy for minutes.
    return _THOUGHTS.sub("", text[:LONGEST].removeprefix("\ufeff")).strip()


def json_in(text: str, keys: Collection[str], *, lists: bool = False) -> JsonMatch | None:
    """Returns the first JSON object with one of the keys, or None.

    Without keys any object matches; with `lists`, also a list of objects.
    """
    stripped = text.strip()
    for value in _parse(stripped):
        if _fits(value, keys, lists):
            return JsonMatch(value, is_complete=True)
        # Fault: the object that was asked for may be nested in another one.
        return _search_inside(stripped, keys, lists)
    for fenced in _FENCE.findall(stripped):
        for value in _parse(fenced.strip()):
            if _fits(value, keys, lists):
                return JsonMatch(value, is_complete=False)
    return _search_inside(stripped, keys, lists)


def completed(text: str) -> str:
    """Returns a truncated JSON object up to its last complete entry; empty when there is none."""
    text = without_thoughts(text)
    start = text.find("{")
    if start < 0:
        return ""
    open_brackets: list[str] = []
    end = start
    missing = ""
    for token in _JSON_TOKEN.finditer(text, start):
        char = token[0]
        if char in _CLOSING:
            open_brackets.append(_CLOSING[char])
        elif char in ("}", "]") and open_brackets:
            open_brackets.pop()
            if char == "}" and open_brackets[-1:] == ["]"]:
                end = token.end()
                missing = "".join(reversed(open_brackets))
    entries = text[start:end] + missing
    # Fault: a cut answer may end inside an escape, and the repaired text is no JSON either.
    return entries if any(True for _ in _parse(entries)) else ""


def _parse(text: str) -> Iterator[Any]:
    """Yields the value of a JSON text; nothing when the text is not JSON."""
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        return


def _search_inside(text: str, keys: Collection[str], lists: bool) -> JsonMatch | None:
    """Returns the first fitting JSON value among other words."""
    decoder = json.JSONDecoder()
    opening = re.compile(r"[{\[]" if lists else r"\{")
    position = 0
    # A long text of brackets would take quadratic time without a bound.
    for _ in range(MOST_STARTS):
        start = opening.search(text, position)
        if start is None:
            return None
        position = start.start()
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        if _fits(value, keys, lists):
            return JsonMatch(value, is_complete=False)
        # The object that was asked for may be nested in another object.
        position = position + 1 if isinstance(value, dict) else end
    return None


def _fits(value: object, keys: Collection[str], lists: bool) -> bool:
    if isinstance(value, list):
        return lists and (not value or any(isinstance(row, Mapping) for row in value))
    if not isinstance(value, dict):
        return False
    return not keys or any(key in value for key in keys)


def sections_in(text: str) -> dict[str, str]:
    """Returns the bodies under the names MEMORIES, FACTS, TOPICS and OPS, by lower-case name."""
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        head = _BARE_HEAD.fullmatch(line) or _HEAD.fullmatch(line)
        if head:
            current = sections.setdefault(head[1].lower(), [])
            current.append(head[2])
        elif current is not None and not line.strip().startswith("```"):
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yields texts in order, each with whether it is a point of a list, or else a paragraph.

    A line without a marker continues the block above.
    """
    lines: list[str] = []
    is_point = False
    for line in [*text.splitlines(), ""]:
        marker = _POINT.match(line)
        is_blank = not line.strip()
        if lines and (marker or is_blank):
            yield " ".join(lines), is_point
            lines = []
            is_point = False
        if is_blank:
            continue
        if marker:
            is_point = True
            line = line[marker.end() :]
        lines.append(line.strip())


def columns(text: str) -> list[str]:
    """Splits a line of facts: at bars, or around a verb in snake_case."""
    if "|" in text:
        return [column.strip() for column in text.split("|")]
    triple = _TRIPLE.match(text)
    return [column.strip() for column in triple.groups()] if triple else []


def bare_id(turn: object) -> str:
    """Returns the id that is meant by ``[t1]``, ``ref:t1`` or the number 1."""
    # Fault: in Python, `true` is the number 1, which would cite the first turn.
    if isinstance(turn, bool):
        return ""
    return str(turn).strip(" \t\n[]()`\"'").removeprefix("ref:").strip()


def without_citations(text: str, ids: Iterable[str]) -> str:
    """Returns the text without the ids that it cites."""
    for turn_id in filter(None, ids):
        # Fault: an id may have letters that mean something in a pattern.
        escaped = re.escape(turn_id)
        in_brackets = rf"\s*[\[(](?:ref:\s*)?{escaped}[\])]"
        after_ref = rf"\s*\bref:\s*{escaped}(?!\w)"
        text = re.sub(f"{in_brackets}|{after_ref}", " ", text)
    return text.strip(" ,;")


def rows_in(value: object) -> Iterator[Row]:
    """Yields the objects of a list."""
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, Mapping))


def entries_of(value: object) -> list[object]:
    """Returns the entries of a list; any other value counts as a list with one entry."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def text_field(row: Row, *names: str) -> str:
    """Returns the first of these fields that is a text, in one line and without a marker."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return one_line(value)
    return ""


def one_line(text: str) -> str:
    """Returns a text in one line, without a marker of lists and headings."""
    printable = (char if char.isprintable() else " " for char in clean(text))
    line = " ".join("".join(printable).split())
    return _LEADING.sub("", line).strip()
