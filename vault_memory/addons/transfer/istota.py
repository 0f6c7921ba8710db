"""Reads the facts and texts in a database of Istota, each with the scope of its owner."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from vault_memory.database.connection import Connection
from vault_memory.database.read_only import ForeignDatabase, columns, open_foreign, rows, tables
from vault_memory.markdown.editable_region import item_marker
from vault_memory.rules.facts.fact import TEMPORARY, Fact, snake_case

FACTS = "knowledge_facts"
CHUNKS = "memory_chunks"
EXPECTED = {
    FACTS: ("id", "user_id", "subject", "predicate", "object"),
    CHUNKS: ("id", "user_id", "source_type", "source_id", "content"),
}
"""Table → the columns that it must have; a database needs one of the tables"""
CONVERSATION = "conversation"
"""The source of turns; other sources are files"""
DATED_SOURCES = (CONVERSATION, "memory_file", "channel_memory")
MAX_LETTERS = 1_800
"""Maximum length of one item"""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class ImportedText:
    """A text that becomes one item."""

    scope: str
    text: str
    day: date | None
    """None for a permanent text"""
    marks: str = ""
    """fields of the item, which follow it in parentheses"""

    @property
    def line(self) -> str:
        """Return the text with its fields."""
        if self.marks:
            return f"{self.text} ({self.marks})"
        return self.text


@dataclass(frozen=True, slots=True)
class IstotaMemory:
    """The content of a database: facts from the oldest on, and texts in their order."""

    facts: tuple[Fact, ...]
    texts: tuple[ImportedText, ...]

    def scopes(self) -> list[str]:
        """Return the scopes that have a fact or a text, sorted."""
        owners = {fact.scope for fact in self.facts}
        owners |= {text.scope for text in self.texts}
        return sorted(owners)


Row = Mapping[str, Any]


def read_istota(path: Path) -> IstotaMemory:
    """Read a database.

    Raises ForeignDatabase, whose message names the tables that exist and those expected.
    """
    with closing(open_foreign(path)) as connection:
        names = tables(connection)
        usable = [
            name
            for name, required in EXPECTED.items()
            if name in names and set(required) <= set(columns(connection, name))
        ]
        if not usable:
            raise _not_istota(path, names)
        fact_rows = _sorted_rows(connection, FACTS) if FACTS in usable else []
        chunk_rows = _sorted_rows(connection, CHUNKS) if CHUNKS in usable else []
    facts = sorted(map(_fact, fact_rows), key=_first_day)
    texts = [text for row in chunk_rows for text in _texts(row)]
    return IstotaMemory(tuple(facts), tuple(texts))


def _sorted_rows(connection: Connection, table: str) -> list[dict[str, Any]]:
    return sorted(rows(connection, table), key=_id)


def _not_istota(path: Path, names: list[str]) -> ForeignDatabase:
    expected = " or ".join(f"{name} ({', '.join(required)})" for name, required in EXPECTED.items())
    actual = ", ".join(names) or "no tables"
    return ForeignDatabase(
        f"`{path}` is not a database of Istota: it has {actual}; expected was {expected}",
        hint="nothing was written; name the database in which Istota keeps its memory",
        found=names,
        expected={name: list(required) for name, required in EXPECTED.items()},
    )


def _id(row: Row) -> tuple[int, str]:
    number = row["id"]
    # Fault: SQLite stores any type in any column, and Python cannot compare a text with
    # a number.
    if isinstance(number, int):
        return (number, "")
    return (0, str(number))


def _scope(row: Row) -> str:
    """Return the scope of a row. In Istota a channel is a user named `channel:…`."""
    owner = _text(row, "user_id")
    if owner.startswith("channel:"):
        return owner
    return f"user:{owner}"


def _fact(row: Row) -> Fact:
    predicate = snake_case(_text(row, "predicate"))
    return Fact(
        id="",
        subject=_text(row, "subject"),
        predicate=predicate,
        object=_text(row, "object"),
        valid_from=_day(row, "valid_from"),
        valid_until=_day(row, "valid_until"),
        temporary=bool(row.get("temporary")) or predicate in TEMPORARY,
        confidence=_confidence(row.get("confidence")),
        ref=_word(row, "source_task_id"),
        scope=_scope(row),
    )


def _confidence(value: object) -> float:
    # The column may be empty or hold a text.
    if not isinstance(value, int | float):
        return 1.0
    return min(1.0, max(0.0, float(value)))


def _first_day(fact: Fact) -> date:
    return fact.valid_from or date.min


def _texts(row: Row) -> Iterator[ImportedText]:
    """Yield the list items and paragraphs of a chunk. A heading becomes a text, too."""
    template = ImportedText(_scope(row), "", _day_of_chunk(row), _marks(row))
    for paragraph in _paragraphs(_text(row, "content")):
        for text in _split(paragraph):
            yield replace(template, text=text)


def _day_of_chunk(row: Row) -> date | None:
    """Return the day in the name of the source, else the day on which a dated one was made."""
    name = _text(row, "source_id").rpartition("/")[2]
    match = _DAY.search(name)
    day = _parsed_day(match[0]) if match else None
    if day is None and _text(row, "source_type") in DATED_SOURCES:
        return _day(row, "created_at")
    return day


def _marks(row: Row) -> str:
    is_turn = _text(row, "source_type") == CONVERSATION
    ref = _word(row, "source_id") if is_turn else ""
    topic = _word(row, "topic")
    until = _day(row, "valid_until")
    marks = []
    if ref:
        marks.append(f"ref:{ref}")
    if topic:
        marks.append(f"topic:{topic}")
    if until:
        marks.append(f"until:{until}")
    if is_turn:
        marks.append("origin:talk")
    return ", ".join(marks)


def _paragraphs(content: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*content.splitlines(), ""]:
        text = line.strip()
        marker = len(item_marker(text.encode("utf-8", "replace")))
        starts_paragraph = not text or marker or text.startswith("#")
        if lines and starts_paragraph:
            yield " ".join(lines)
            lines = []
        words = text[marker:].strip().lstrip("#").strip()
        if words:
            lines.append(words)


def _split(text: str) -> Iterator[str]:
    """Yield the text in segments of the maximum length, split between words if possible."""
    while len(text) > MAX_LETTERS:
        end = text.rfind(" ", 1, MAX_LETTERS)
        if end < 0:
            end = MAX_LETTERS
        yield text[:end].strip()
        text = text[end:].strip()
    if text:
        yield text


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    # SQLite stores any type in any column.
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def _word(row: Row, name: str) -> str:
    """Return a value that can be a field of an item: one word of plain characters, else empty."""
    value = _text(row, name).strip()
    if re.fullmatch(r"[\w.-]{1,60}", value):
        return value
    return ""


def _day(row: Row, name: str) -> date | None:
    return _parsed_day(_text(row, name)[:10])


def _parsed_day(text: str) -> date | None:
    if not _DAY.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        # The digits are no day of the calendar, such as 2026-02-30.
        return None
