"""Counts of the entities that notes mention, by scope, folded name and type."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from vault_memory.database.connection import Connection
from vault_memory.rules.facts import entities
from vault_memory.rules.facts import fact as facts_fact

if TYPE_CHECKING:
    from vault_memory.markdown.chunking.chunk_text import Chunk

DATES = "event"
"""The type of patterns that are days, which are not entities"""

Counts = Counter[tuple[int, str, str]]
"""How often a name is mentioned, by scope, folded name and type"""


def insert_mentions(
    connection: Connection,
    note: int,
    scope: int,
    chunks: "Iterable[Chunk]",
    also: Sequence[int | None] = (),
) -> None:
    """Write the mentions of a note that has none. `also` is as in `add_mentions`."""
    counts = _count_mentions(scope, chunks, also)
    # Most notes mention nothing, and a statement without rows takes time, too.
    if counts:
        # A popular name has thousands of rows, which an update would look through.
        connection.executemany(
            "INSERT INTO mention VALUES (?,?,?,?,?)",
            [(note, *mention, count) for mention, count in counts.items()],
        )


def add_mentions(
    connection: Connection,
    note: int,
    scope: int,
    chunks: "Iterable[Chunk]",
    also: Sequence[int | None] = (),
) -> None:
    """Add the mentions in chunks of a note. `also` has the second scope of each chunk, or is empty."""
    _add(connection, note, _count_mentions(scope, chunks, also))


def change_mentions(
    connection: Connection,
    note: int,
    scope: int,
    removed: "Iterable[Chunk]",
    added: "Iterable[Chunk]",
) -> None:
    """Subtract the mentions in removed chunks of a note, and add those in new chunks."""
    counts = _count_mentions(scope, added)
    counts.subtract(_count_mentions(scope, removed))
    if counts:
        _add(connection, note, counts)
        connection.execute("DELETE FROM mention WHERE note = ? AND count <= 0", (note,))


def remove_mentions(connection: Connection, note: int) -> None:
    """Delete the mentions of a note, before its chunks are counted again."""
    connection.execute("DELETE FROM mention WHERE note = ?", (note,))


def _count_mentions(
    scope: int, chunks: "Iterable[Chunk]", also: Sequence[int | None] = ()
) -> Counts:
    counts: Counts = Counter()
    for index, chunk in enumerate(chunks):
        text = chunk.text
        # Most chunks have none of these signs, and the patterns are slow.
        if "@" not in text and "#" not in text and "://" not in text:
            continue
        scopes = {scope}
        if also and (second_scope := also[index]) is not None:
            scopes.add(second_scope)
        for entity in entities.extract(text):
            if entity.type != DATES:
                name = facts_fact.folded(entity.name)
                counts.update((scope_id, name, entity.type) for scope_id in scopes)
    return counts


def _add(connection: Connection, note: int, counts: Mapping[tuple[int, str, str], int]) -> None:
    for (scope, key, type_), count in counts.items():
        row = (note, scope, key, type_)
        connection.execute(
            "UPDATE mention"
            " SET count = count + ?"
            " WHERE note = ?"
            " AND scope = ?"
            " AND key = ?"
            " AND type = ?",
            (count, *row),
        )
        if not connection.changes():
            connection.execute("INSERT INTO mention VALUES (?,?,?,?,?)", (*row, count))
