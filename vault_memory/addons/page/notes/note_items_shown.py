"""The items of a note with their lines and authors, for the buttons beside them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import normalised_text
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.edits.blame import added_lines

if TYPE_CHECKING:
    from vault_memory.rules.edits.audit_record import Record

PERSON = "a person"
AUTHORS: Mapping[str, str] = {
    "tool": "the bot",
    "nightly": "the bot, at night",
    "proposal": "the bot, approved by a person",
    "inbox": "the bot, approved by a person",
    "merge": "sync",
    "talk": "the bot",
}
"""Source of the record that added a line → who wrote it; all others are a person"""


class ShownItem(NamedTuple):
    """An item with what the buttons beside it need."""

    heading: str
    text: str
    line: int
    """in the note, from 1"""
    author: str
    record_id: str
    """of the change that added it; empty for a line of a person's editor"""


def shown_items(raw: bytes, records: "Iterable[Record]") -> list[ShownItem]:
    """Returns the items of a note that ops can address; `records` are those of the note."""
    doc = parse(raw)
    lines = list(_first_lines(doc))
    added_by = _records_by_text(records)
    return [_shown(item, doc, lines, added_by) for item in items_of(doc)]


def _shown(
    item: NoteItem, doc: SectionedDoc, lines: list[int], added_by: "Mapping[str, Record]"
) -> ShownItem:
    body = doc.sections[item.section].body
    line = lines[item.section] + count_lines(body[: item.start])
    record = added_by.get(normalised_text(item.text))
    author = AUTHORS.get(record.source, PERSON) if record else PERSON
    record_id = record.id if record else ""
    return ShownItem(item.heading, item.text, line, author, record_id)


def _first_lines(doc: SectionedDoc) -> Iterator[int]:
    """Yields the line on which the body of each section begins, from 1."""
    line = 1 + count_lines(doc.preamble)
    for section in doc.sections:
        line += count_lines(section.heading)
        yield line
        line += count_lines(section.body)


def count_lines(raw: bytes) -> int:
    """Returns how many line ends there are: CRLF, LF or CR."""
    return raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")


def _records_by_text(records: "Iterable[Record]") -> "dict[str, Record]":
    """Returns the newest record that added each text."""
    # The records are in order, so the last one that added a text remains.
    by_text = {}
    for record in records:
        for text in added_lines(record):
            by_text[normalised_text(text)] = record
    return by_text
