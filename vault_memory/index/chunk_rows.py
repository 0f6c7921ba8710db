"""The chunks of one note in the index: what is new goes in, what is gone goes out, what only moved stays.

Two occurrences are the same when identity, text, date and topic are; where it stands in the note may differ.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.database.connection import Connection
from vault_memory.index import fts_writer
from vault_memory.index.delta_cache import Span
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.markdown.chunking import chunk_text
    from vault_memory.markdown.chunking.chunk_text import Chunk
else:
    chunk_text = lazy_module("vault_memory.markdown.chunking.chunk_text")

SEPARATOR = "\x1f"
"""Between the names of a heading path in one column"""


class Delta(NamedTuple):
    """How many chunks of a note were added, kept and removed."""

    added: int = 0
    kept: int = 0
    removed: int = 0

    def __add__(self, other: "Delta") -> "Delta":  # type: ignore[override]
        return Delta(
            self.added + other.added,
            self.kept + other.kept,
            self.removed + other.removed,
        )


_Row = tuple[
    int, int, int, int, int, int, str | None, bytes, str, str, str, str, int | None
]
"""id, note, scope, ordinal, first line, last line, date, identity, heading path, who, topic, text, other scope"""
_Same = tuple[bytes, str | None, str, str, int | None]
_Twin = tuple[int, int, int, int]


def replace(
    connection: Connection,
    note: int,
    scope: int,
    chunks: "Sequence[Chunk]",
    date: str | None,
    *,
    also: Sequence[int | None] = (),
    new: bool = False,
    span: Span | None = None,
) -> Delta:
    """Make the chunks of `note` be `chunks`; `date` is that of the note's name. `new`: it has none yet.

    `also`: of each chunk the scope it is in besides `scope`; empty when none is in another.
    `span`: where they differ from those that it has, when that is known.
    """
    old = {} if new else _occurrences(connection, note, span)
    next_id = _last_id(connection) + 1
    fresh: list[_Row] = []
    moved: list[_Twin] = []
    kept = 0
    start, until = (span.first, span.until) if span else (0, len(chunks))
    if span:
        kept = start + len(chunks) - until
        _move(connection, note, span)
    for ordinal, (body, heading, who, first, last, own_date, topic) in enumerate(
        chunks[start:until], start
    ):
        key = chunk_text.identity(chunk_text.embed_text(heading, who, body))
        day = own_date.isoformat() if own_date else date
        other = also[ordinal] if also else None
        if old and (twins := old.get((key, day, topic, body, other))):
            kept += 1
            id_, *then = twins.pop()
            if then != [ordinal, first, last]:
                moved.append((ordinal, first, last, id_))
            continue
        path = SEPARATOR.join(heading)
        fresh.append(
            (
                next_id + len(fresh),
                note,
                scope,
                ordinal,
                first,
                last,
                day,
                key,
                path,
                who,
                topic,
                body,
                other,
            )
        )
    gone = [(twin[0],) for twins in old.values() for twin in twins]
    _write(connection, fresh, moved, gone)
    return Delta(added=len(fresh), kept=kept, removed=len(gone))


class Change(NamedTuple):
    """How the chunks of a note differ from its rows."""

    added: list[tuple[object, ...]]
    """rows without id, note and scope"""
    moved: list[_Twin]
    gone: list[tuple[int]]
    kept: int


def compare(
    connection: Connection,
    note: int,
    chunks: "Sequence[Chunk]",
    date: str | None,
    also: Sequence[int | None],
) -> Change:
    """What has to be written so that the rows of `note` are `chunks`. Changes nothing."""
    old = _occurrences(connection, note, None)
    added: list[tuple[object, ...]] = []
    moved: list[_Twin] = []
    for ordinal, (body, heading, who, first, last, own_date, topic) in enumerate(
        chunks
    ):
        key = chunk_text.identity(chunk_text.embed_text(heading, who, body))
        day = own_date.isoformat() if own_date else date
        other = also[ordinal] if also else None
        if twins := old.get((key, day, topic, body, other)):
            id_, *place = twins.pop()
            if place != [ordinal, first, last]:
                moved.append((ordinal, first, last, id_))
        else:
            added.append(
                (
                    ordinal,
                    first,
                    last,
                    day,
                    key,
                    SEPARATOR.join(heading),
                    who,
                    topic,
                    body,
                    other,
                )
            )
    gone = [(twin[0],) for twins in old.values() for twin in twins]
    return Change(added, moved, gone, len(chunks) - len(added))


def add(
    connection: Connection, note: int, scope: int, rows: "Sequence[tuple[object, ...]]"
) -> None:
    """Write rows that `compare` gave."""
    next_id = _last_id(connection) + 1
    _write(
        connection,
        [(next_id + place, note, scope, *row) for place, row in enumerate(rows)],  # type: ignore[misc]
        [],
        [],
    )


def move(connection: Connection, moved: "Sequence[_Twin]") -> None:
    """Let chunks stand elsewhere in their note."""
    _write(connection, [], list(moved), [])


def remove(connection: Connection, ids: "Sequence[tuple[int]]") -> None:
    """Take chunks out."""
    _write(connection, [], [], list(ids))


def last_ids(connection: Connection, note: int, most: int) -> list[tuple[int]]:
    """The ids of the last chunks of a note."""
    rows = connection.execute(
        "SELECT id FROM chunk WHERE note = ? ORDER BY ordinal DESC LIMIT ?",
        (note, most),
    )
    return [(row[0],) for row in rows]


def append(
    connection: Connection,
    note: int,
    scope: int,
    chunks: "Sequence[Chunk]",
    date: str | None,
    also: Sequence[int | None],
) -> Delta:
    """Add chunks after those that `note` has."""
    next_id = _last_id(connection) + 1
    row = connection.execute(
        "SELECT max(ordinal) FROM chunk WHERE note = ?", (note,)
    ).fetchone()
    ordinal = 0 if row is None or row[0] is None else row[0] + 1
    fresh: list[_Row] = []
    for at, (body, heading, who, first, last, own_date, topic) in enumerate(chunks):
        key, path = (
            chunk_text.identity(chunk_text.embed_text(heading, who, body)),
            SEPARATOR.join(heading),
        )
        day = own_date.isoformat() if own_date else date
        place = (next_id + at, note, scope, ordinal + at, first, last)
        fresh.append(
            (*place, day, key, path, who, topic, body, also[at] if also else None)
        )
    _write(connection, fresh, [], [])
    return Delta(added=len(fresh))


def _move(connection: Connection, note: int, span: Span) -> None:
    """Those after a span go to where they stand now."""
    if span.shift or span.lines:
        connection.execute(
            "UPDATE chunk SET ordinal = ordinal + ?, first_line = first_line + ?, last_line = last_line + ?"
            " WHERE note = ? AND ordinal >= ?",
            (span.shift, span.lines, span.lines, note, span.last),
        )


def _occurrences(
    connection: Connection, note: int, span: Span | None
) -> dict[_Same, list[_Twin]]:
    """The rows of a note, or of a span, by what makes two occurrences the same, the first occurrence last."""
    found: dict[_Same, list[_Twin]] = {}
    within, bounds = (
        ("", ())
        if span is None
        else (" AND ordinal >= ? AND ordinal < ?", (span.first, span.last))
    )
    rows = connection.execute(
        "SELECT identity, date, topic, text, also, id, ordinal, first_line, last_line FROM chunk"
        f" WHERE note = ?{within} ORDER BY ordinal DESC",
        (note, *bounds),
    )
    for row in rows:
        found.setdefault(row[:5], []).append(row[5:])
    return found


def _last_id(connection: Connection) -> int:
    row = connection.execute("SELECT max(id) FROM chunk").fetchone()
    return (row[0] or 0) if row else 0


def _write(
    connection: Connection,
    fresh: list[_Row],
    moved: list[_Twin],
    gone: list[tuple[int]],
) -> None:
    if gone:
        fts_writer.remove(connection, gone)
        connection.executemany("DELETE FROM chunk WHERE id = ?", gone)
    if moved:
        connection.executemany(
            "UPDATE chunk SET ordinal = ?, first_line = ?, last_line = ? WHERE id = ?",
            moved,
        )
    if fresh:
        connection.executemany(
            "INSERT INTO chunk VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", fresh
        )
        fts_writer.add(
            connection,
            fresh[0][0],
            [((row[2], row[12]), row[8], row[9], row[11]) for row in fresh],
        )
