"""What a database of Istota knows: facts, and chunks of text, each with its owner. Only reading."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from vault_memory.database.read_only import (
    ForeignDatabase,
    columns,
    open_foreign,
    rows,
    tables,
)
from vault_memory.markdown.editable_region import item_marker
from vault_memory.rules.facts.fact import TEMPORARY, Fact, snake_case

FACTS, CHUNKS = "knowledge_facts", "memory_chunks"
EXPECTED = {
    FACTS: ("id", "user_id", "subject", "predicate", "object"),
    CHUNKS: ("id", "user_id", "source_type", "source_id", "content"),
}
"""Tables, and the columns without which they say nothing; one of the tables is enough"""
SAID = "conversation"
"""The source of what was said; other sources are files"""
AGING = (SAID, "memory_file", "channel_memory")
"""Sources that belong to a day"""
LONGEST = 1_800
"""Letters of one item"""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text that becomes an item."""

    scope: str
    text: str
    day: date | None
    """None for what is kept for good"""
    marks: str = ""
    """what stands in brackets after it"""


@dataclass(frozen=True, slots=True)
class Known:
    """All of it."""

    facts: tuple[Fact, ...]
    pieces: tuple[Piece, ...]


def read_istota(path: Path) -> Known:
    """Raises ForeignDatabase, which says what was found and what was expected."""
    with closing(open_foreign(path)) as connection:
        found = tables(connection)
        known = [
            name
            for name in EXPECTED
            if name in found and set(EXPECTED[name]) <= set(columns(connection, name))
        ]
        if not known:
            raise _unknown(path, found)
        told, chunks = (
            sorted(rows(connection, name), key=_id) if name in known else []
            for name in EXPECTED
        )
    facts = sorted((_fact(row) for row in told), key=_age)
    return Known(tuple(facts), tuple(piece for row in chunks for piece in _pieces(row)))


def _unknown(path: Path, found: list[str]) -> ForeignDatabase:
    expected = " or ".join(
        f"{name} ({', '.join(needed)})" for name, needed in EXPECTED.items()
    )
    return ForeignDatabase(
        f"`{path}` is no database of Istota: it has {', '.join(found) or 'no table at all'}; expected was {expected}",
        hint="nothing was written",
        found=found,
        expected={name: list(needed) for name, needed in EXPECTED.items()},
    )


def _id(row: Mapping[str, Any]) -> tuple[int, str]:
    number = row["id"]
    return (number, "") if isinstance(number, int) else (0, str(number))


def _scope(row: Mapping[str, Any]) -> str:
    """Channels are users there whose name begins with `channel:`."""
    owner = _text(row, "user_id")
    return owner if owner.startswith("channel:") else f"user:{owner}"


def _fact(row: Mapping[str, Any]) -> Fact:
    predicate = snake_case(_text(row, "predicate"))
    sure = row.get("confidence")
    return Fact(
        "",
        _text(row, "subject"),
        predicate,
        _text(row, "object"),
        _day(row, "valid_from"),
        _day(row, "valid_until"),
        bool(row.get("temporary")) or predicate in TEMPORARY,
        min(1.0, max(0.0, float(sure))) if isinstance(sure, int | float) else 1.0,
        _word(row, "source_task_id"),
        scope=_scope(row),
    )


def _age(fact: Fact) -> date:
    return fact.valid_from or date.min


def _pieces(row: Mapping[str, Any]) -> Iterator[Piece]:
    """A chunk as items: its list items, and its paragraphs; the text is all there, headings as text."""
    source, origin = _text(row, "source_type"), _text(row, "source_id")
    scope = _scope(row)
    named = _DAY.search(origin.rpartition("/")[2])
    day = _as_day(named[0]) if named else None
    if day is None and source in AGING:
        day = _day(row, "created_at")
    marks = [
        f"ref:{_word(row, 'source_id')}"
        if source == SAID and _word(row, "source_id")
        else ""
    ]
    marks += [f"topic:{_word(row, 'topic')}" if _word(row, "topic") else ""]
    until = _day(row, "valid_until")
    marks += [
        f"until:{until}" if until else "",
        "origin:talk" if source == SAID else "",
    ]
    whole = Piece(scope, "", day, ", ".join(mark for mark in marks if mark))
    for text in _paragraphs(_text(row, "content")):
        yield from (replace(whole, text=part) for part in _short(text))


def _paragraphs(content: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*content.splitlines(), ""]:
        marker = len(item_marker(line.strip().encode("utf-8", "replace")))
        if lines and (not line.strip() or marker or line.lstrip().startswith("#")):
            yield " ".join(lines)
            lines = []
        said = line.strip()[marker:].strip().lstrip("#").strip()
        lines += [said] if said else []


def _short(text: str) -> Iterator[str]:
    """The text in parts that fit into items, cut between words where there are any."""
    while len(text) > LONGEST:
        cut = text.rfind(" ", 1, LONGEST)
        cut = LONGEST if cut < 0 else cut
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return (
        ""
        if value is None
        else value.decode("utf-8", "replace")
        if isinstance(value, bytes)
        else str(value)
    )


def _word(row: Mapping[str, Any], name: str) -> str:
    """As it can stand in brackets: one word of plain signs, else nothing."""
    value = _text(row, name).strip()
    return value if re.fullmatch(r"[\w.-]{1,60}", value) else ""


def _day(row: Mapping[str, Any], name: str) -> date | None:
    return _as_day(_text(row, name)[:10])


def _as_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None
