"""Stores the stamps of items, and the counts of their reads, which ranking needs.

A stamp belongs to a chunk, and goes when its chunk goes. Stamps are written a moment after the text
of their note: until then its new lines count as lines that never fade.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vault_memory.index.store import Index
    from vault_memory.rules.learning.ledger_lines import ReadCount
    from vault_memory.rules.learning.stamps import ItemStamp

DUE = "?"
"""The signature of the audit of a note whose stamps are to be written"""
MISSING = 2
"""`State.MISSING`: the text of such a note may be half written"""


class DueNote(NamedTuple):
    """A note whose stamps are due."""

    id: int
    path: str
    revision: str
    bytes: int


def due_notes(index: "Index", most: int) -> list[DueNote]:
    """Returns the next notes whose stamps are due."""
    rows = index.connection.execute(
        "SELECT id, path, revision, bytes"
        " FROM note"
        f" WHERE audits = '{DUE}' AND state <> {MISSING}"
        " ORDER BY path"
        " LIMIT ?",
        (most,),
    )
    return [DueNote(*row) for row in rows]


def signatures(index: "Index") -> dict[str, str]:
    """Returns the notes with an audit, or that are due, with the signature of their audit."""
    rows = index.connection.execute("SELECT path, audits FROM note WHERE audits <> ''")
    return {row[0]: row[1] for row in rows}


def set_signatures(index: "Index", values: Mapping[str, str]) -> None:
    """Stores the signatures of audits. Call it inside a transaction."""
    index.connection.executemany(
        "UPDATE note SET audits = ? WHERE path = ?",
        [(signature, path) for path, signature in values.items()],
    )


def replace(index: "Index", note: int, stamps: "Sequence[ItemStamp]") -> None:
    """Writes the stamps of a note where they differ. Call it inside a transaction."""
    chunks = index.connection.execute(
        "SELECT id, note, scope, first_line, last_line FROM chunk WHERE note = ?",
        (note if stamps else None,),
    )
    rows = set(_rows(chunks, stamps))
    previous = set(index.connection.execute("SELECT * FROM stamp WHERE note = ?", (note,)))
    index.connection.executemany(
        "DELETE FROM stamp WHERE chunk = ?", [(row[0],) for row in previous - rows]
    )
    index.connection.executemany(
        "INSERT INTO stamp VALUES (?,?,?,?,?,?,?,?,?,?)", sorted(rows - previous)
    )


def _rows(
    chunks: Iterable[tuple[int, int, int, int, int]], stamps: "Sequence[ItemStamp]"
) -> Iterator[tuple[object, ...]]:
    """Yields the row of each chunk whose item the bot wrote, or a turn supports."""
    starts = [stamp.first_line for stamp in stamps]
    for chunk, note, scope, first, last in chunks:
        index = bisect_right(starts, first) - 1
        if index < 0 or stamps[index].last_line < first:
            continue
        stamp = stamps[index]
        inside = stamps[index + 1 : bisect_right(starts, last)]
        # A chunk with a line that never fades does not fade either.
        fades = all(line.fades for line in (stamp, *inside))
        if stamp.by_bot or stamp.supports > 1:
            yield (
                chunk,
                note,
                scope,
                stamp.key,
                stamp.type,
                stamp.learned,
                int(stamp.confirmed),
                int(stamp.by_bot),
                stamp.supports,
                fades,
            )


# --- Counts of reads ---


def ledgers(index: "Index") -> dict[str, str]:
    """Returns the ledgers whose counts are stored, with their signatures."""
    rows = index.connection.execute("SELECT path, signature FROM ledger")
    return {row[0]: row[1] for row in rows}


def replace_ledgers(index: "Index", files: Mapping[str, str]) -> None:
    """Stores the signatures of all ledgers. Call it inside a transaction."""
    index.connection.execute("DELETE FROM ledger")
    index.connection.executemany("INSERT INTO ledger VALUES (?, ?)", list(files.items()))


def replace_counts(index: "Index", scope: int, counts: "Mapping[str, ReadCount]") -> None:
    """Replaces the counts of a scope. Call it inside a transaction."""
    index.connection.execute("DELETE FROM read_count WHERE scope = ?", (scope,))
    index.connection.executemany(
        "INSERT INTO read_count VALUES (?, ?, ?, ?)",
        [(scope, key, count.days, count.last) for key, count in counts.items()],
    )
