"""Finds the audit record of the edit that wrote a line of a note. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from vault_memory.markdown.items import normalised_text
from vault_memory.markdown.note_items import text_of
from vault_memory.rules.edits.audit_record import Record


def record_of_line(records: Sequence[Record], text: str) -> Record | None:
    """Returns the newest record that added an item with this text; None: a person wrote it."""
    wanted = normalised_text(text)
    for record in reversed(records):
        if any(normalised_text(line) == wanted for line in added_lines(record)):
            return record
    return None


def added_lines(record: Record) -> Iterator[str]:
    """Yields the text of each line that a record added."""
    for line in record.diff.split(b"\n"):
        if line.startswith(b"+") and not line.startswith(b"+++"):
            text = text_of(line[1:])
            if text:
                yield text


def with_id(records: Iterable[Record], prefix: str) -> list[Record]:
    """Returns the records whose ids begin so."""
    return [record for record in records if record.id.startswith(prefix)]
