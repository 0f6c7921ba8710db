"""Stamps of items: what fading and importance follow from, read from a note and its audit. Pure.

The index holds stamps, and nothing that is derived from them. A rebuilt index has the same.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import day as day_of
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import NoteItem, section_items
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.ownership import replay, text_of_line, texts_of
from vault_memory.rules.edits.skipped_duplicates import is_skip, last_supported, supports, turns_of
from vault_memory.rules.facts.fact import read_facts
from vault_memory.rules.learning import fading
from vault_memory.rules.paths.layout import Place

_BREAK = re.compile(rb"\r\n|\r|\n")
_DAY = 10
"""Characters of the day in a time of ISO 8601"""


class ItemStamp(NamedTuple):
    """The stamp of one item of a note."""

    first_line: int
    """1-based"""
    last_line: int
    """of its own text, without nested items"""
    key: str
    type: str
    """one of `fading.TYPES`"""
    learned: str
    """the day on which it was last learned or supported, ISO 8601; empty when it is unknown"""
    confirmed: bool
    by_bot: bool
    supports: int
    """turns that say it"""
    fades: bool


def stamps_of(raw: bytes, place: Place, records: Sequence[Record]) -> list[ItemStamp]:
    """Returns the stamps of all items of a note, in its order. `records` are its audit."""
    doc = parse(raw)
    placed = list(_placed_items(doc))
    reader = _StampReader(doc, place, records, [item for item, _, _ in placed])
    return [reader.stamp(item, first, last) for item, first, last in placed]


def _placed_items(doc: SectionedDoc) -> Iterator[tuple[NoteItem, int, int]]:
    """Yields each item with the numbers of its first and its last own line."""
    line = 1 + _count_breaks(doc.preamble)
    for number, section in enumerate(doc.sections):
        line += _count_breaks(section.heading)
        start = 0
        first = line
        for item in section_items(doc, number):
            first += _count_breaks(section.body[start : item.start])
            start = item.start
            own = section.body[item.start : item.own_end].rstrip()
            yield item, first, first + _count_breaks(own)
        line += _count_breaks(section.body)


def _count_breaks(raw: bytes) -> int:
    return len(_BREAK.findall(raw))


class _StampReader:
    """Reads the stamps of one note."""

    def __init__(
        self, doc: SectionedDoc, place: Place, records: Sequence[Record], items: Sequence[NoteItem]
    ) -> None:
        self._place = place
        self._records = records
        self._bots = frozenset(replay(tuple(records)).bots_among(items))
        self._supports = supports(records)
        self._supported = last_supported(records)
        self._fact_ids: dict[tuple[str, str], str] = {}
        if place.kind == fading.FACTS:
            facts = read_facts(doc, place.scope)
            self._fact_ids = {(fact.subject, fact.text): fact.id for fact in facts}
        self._written: dict[str, str] | None = None

    def stamp(self, item: NoteItem, first: int, last: int) -> ItemStamp:
        """Returns the stamp of an item on these lines."""
        fields = parse_item(item.text)
        key = content_key(self._place.scope, item.text)
        by_bot = item in self._bots
        # A skipped fact names its twin by the id of the fact.
        twin = self._fact_ids.get((item.heading, item.text), key)
        learned = self._learned(item, fields.date)
        # Without a day nothing says how old it is.
        fades = (
            by_bot
            and not fields.confirmed
            and bool(learned)
            and self._place.kind in fading.FADING_KINDS
        )
        return ItemStamp(
            first,
            last,
            key,
            fading.type_of(fields.type),
            max(learned, self._supported.get(twin, "")[:_DAY]),
            fields.confirmed,
            by_bot,
            len(turns_of(item.text, twin, self._supports)),
            fades,
        )

    def _learned(self, item: NoteItem, own_day: date | None) -> str:
        """Returns the day of an item: its own, that of its note, or that of its record."""
        day = own_day or self._place.date
        if day is not None:
            return day.isoformat()
        if self._written is None:
            self._written = dict(_written_texts(self._records))
        return self._written.get(text_of_line(item.text), "")


def _written_texts(records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yields each text that the bot wrote with the day of its record, the oldest first."""
    for record in records:
        day = record.ts[:_DAY]
        if record.by_bot and day_of(day) is not None:
            for op in record.applied:
                # A skipped duplicate counts as support, until it is undone.
                texts = () if is_skip(op) else texts_of(op.op)
                for text in texts:
                    yield text, day
