"""Writes the chunks of one note into the index, and only those that differ.

Two occurrences of a chunk are the same if all but their position in the note is equal. The identity, the
key of a vector, follows from that. An index without a model has none, as no vector is looked up.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, count, repeat
from operator import add as plus
from operator import itemgetter, ne, sub
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from vault_memory.database.connection import Connection
from vault_memory.index import term_volumes
from vault_memory.markdown.chunking import chunk_text
from vault_memory.rules.search.tokens import normalise

if TYPE_CHECKING:
    from vault_memory.markdown.chunking.chunk_text import Chunk

T = TypeVar("T")

_NO_DIFFERENCE = 1 << 62
"""More than the length of any list"""
_CONTENT = itemgetter(0, 1, 2, 5, 6)
"""The fields of a chunk without its lines"""
_FIRST_LINE, _LAST_LINE = itemgetter(3), itemgetter(4)

SEPARATOR = "\x1f"
"""Between the names of a heading path in one column"""


class Span(NamedTuple):
    """The stretch where two lists differ; the entries before and after it are equal."""

    first: int
    last: int
    """The end of the stretch in the older list"""
    until: int
    """The end of the stretch in the newer list"""
    lines: int = 0
    """How many lines the entries after it moved down"""

    @property
    def shift(self) -> int:
        """How many positions the entries after it moved on in the list."""
        return self.until - self.last


class Delta(NamedTuple):
    """How many chunks of a note were added, unchanged and removed."""

    added: int = 0
    unchanged: int = 0
    removed: int = 0

    def __add__(self, other: "Delta") -> "Delta":  # type: ignore[override]
        return Delta(*map(plus, self, other))


Row = tuple[Any, ...]
"""note, scope, ordinal, first line, last line, date, heading path, who, topic, text, other scope"""
_Content = tuple[str | None, str, str, str, str, int | None]
"""date, heading path, who, topic, text, other scope"""
_Position = tuple[int, int, int, int]
"""id, ordinal, first line, last line"""


class ChunkChange(NamedTuple):
    """How the chunks of a note differ from its rows."""

    added: list[Row]
    moved: list[_Position]
    """ordinal, first line, last line, id"""
    removed: list[tuple[int]]
    """ids"""
    unchanged: int


class NoteChunks(NamedTuple):
    """The chunks of a note as they are to be written."""

    note: int
    """The id of the note"""
    scope: int
    chunks: "Sequence[Chunk]"
    date: str | None
    """The date in the name of the note, for chunks without a date of their own"""
    also: Sequence[int | None] = ()
    """The second scope of each chunk; empty when no chunk has one"""


def insert(connection: Connection, contents: Iterable[NoteChunks]) -> Delta:
    """Write the chunks of notes that have no rows yet."""
    rows = [row for content in contents for row in _compare({}, content).added]
    _write(connection, rows, [], [])
    return Delta(added=len(rows))


def replace(connection: Connection, content: NoteChunks) -> Delta:
    """Replace the chunks of a note."""
    old = _occurrences(connection, content.note, None)
    return _write_change(connection, content, _compare(old, content))


def replace_span(connection: Connection, content: NoteChunks, span: Span) -> Delta:
    """Replace the chunks of a note, which differ from its rows only within a span."""
    old = _occurrences(connection, content.note, span)
    _move_below(connection, content.note, span)
    in_span = content._replace(chunks=content.chunks[span.first : span.until])
    delta = _write_change(connection, content, _compare(old, in_span, span.first))
    outside = span.first + len(content.chunks) - span.until
    return delta._replace(unchanged=delta.unchanged + outside)


def compare(connection: Connection, content: NoteChunks) -> ChunkChange:
    """Return what has to be written so that the rows of a note are its chunks. Writes nothing."""
    return _compare(_occurrences(connection, content.note, None), content)


def _write_change(connection: Connection, content: NoteChunks, change: ChunkChange) -> Delta:
    _write(connection, change.added, change.moved, change.removed)
    return Delta(len(change.added), change.unchanged, len(change.removed))


def _compare(
    old: dict[_Content, list[_Position]], content: NoteChunks, start: int = 0
) -> ChunkChange:
    """Compare rows with chunks, whose ordinals begin at `start`. Empties `old` of equal rows."""
    chunks = content.chunks
    date = content.date
    also = content.also
    added: list[Row] = []
    moved: list[_Position] = []
    for ordinal, (text, heading, who, first, last, own_date, topic) in enumerate(chunks, start):
        day = own_date.isoformat() if own_date else date
        second_scope = also[ordinal] if also else None
        fields = (day, SEPARATOR.join(heading), who, topic, text, second_scope)
        # A new note has no rows to compare with.
        if twins := old and old.get(fields):
            id_, *position = twins.pop()
            if position != [ordinal, first, last]:
                moved.append((ordinal, first, last, id_))
            continue
        added.append((content.note, content.scope, ordinal, first, last, *fields))
    removed = [(twin[0],) for twins in old.values() for twin in twins]
    return ChunkChange(added, moved, removed, len(chunks) - len(added))


def add(connection: Connection, rows: Sequence[Row]) -> None:
    """Write rows that `compare` returned."""
    _write(connection, rows, [], [])


def move(connection: Connection, moved: Sequence[_Position]) -> None:
    """Change the positions of chunks in their note."""
    _write(connection, [], moved, [])


def remove(connection: Connection, ids: Sequence[tuple[int]]) -> None:
    """Delete chunks."""
    _write(connection, [], [], ids)


def last_ids(connection: Connection, note: int, most: int) -> list[tuple[int]]:
    """Return the ids of the last chunks of a note, at most so many."""
    rows = connection.execute(
        "SELECT id FROM chunk WHERE note = ? ORDER BY ordinal DESC LIMIT ?", (note, most)
    )
    return [(row[0],) for row in rows]


def append(connection: Connection, content: NoteChunks) -> Delta:
    """Add chunks after those of a note."""
    row = connection.execute(
        "SELECT max(ordinal) FROM chunk WHERE note = ?", (content.note,)
    ).fetchone()
    start = 0 if row is None or row[0] is None else row[0] + 1
    # `_compare` looks up `also` by ordinal.
    change = _compare({}, content)
    rows = [(*row[:2], start + row[2], *row[3:]) for row in change.added]
    add(connection, rows)
    return Delta(added=len(rows))


def _move_below(connection: Connection, note: int, span: Span) -> None:
    """Change the positions of the chunks after a span."""
    if span.shift or span.lines:
        connection.execute(
            "UPDATE chunk"
            " SET ordinal = ordinal + ?,"
            " first_line = first_line + ?, last_line = last_line + ?"
            " WHERE note = ?"
            " AND ordinal >= ?",
            (span.shift, span.lines, span.lines, note, span.last),
        )


def _occurrences(
    connection: Connection, note: int, span: Span | None
) -> dict[_Content, list[_Position]]:
    """Return the positions of the rows of a note, or of a span, by content; the first one last."""
    condition = ""
    bounds: tuple[int, ...] = ()
    if span is not None:
        condition = " AND ordinal >= ? AND ordinal < ?"
        bounds = (span.first, span.last)
    rows = connection.execute(
        "SELECT date, heading, who, topic, text, also, id, ordinal, first_line, last_line"
        " FROM chunk"
        f" WHERE note = ?{condition}"
        " ORDER BY ordinal DESC",
        (note, *bounds),
    )
    occurrences: dict[_Content, list[_Position]] = {}
    for row in rows:
        occurrences.setdefault(row[:6], []).append(row[6:])
    return occurrences


def _with_ids(connection: Connection, rows: Sequence[Row]) -> list[Row]:
    """Return rows with the next ids in front, and the identity at the end."""
    [(last_id, has_model)] = connection.execute(
        "SELECT (SELECT max(id) FROM chunk), EXISTS (SELECT 1 FROM model)"
    )
    return [
        (id_, *row, identity(row[6], row[7], row[9]) if has_model else b"")
        for id_, row in enumerate(rows, (last_id or 0) + 1)
    ]


def embed_text(heading: str, who: str, text: str) -> str:
    """Return the exact embed text of a row."""
    return chunk_text.embed_text(tuple(filter(None, heading.split(SEPARATOR))), who, text)


def identity(*fields: Any) -> bytes:
    """Return the identity of a row, from its heading path, who and text."""
    return chunk_text.identity(embed_text(*fields))


def _write(
    connection: Connection,
    added: Sequence[Row],
    moved: Sequence[_Position],
    removed: Sequence[tuple[int]],
) -> None:
    if removed:
        _remove_texts(connection, removed)
        connection.executemany("DELETE FROM chunk WHERE id = ?", removed)
    if moved:
        connection.executemany(
            "UPDATE chunk SET ordinal = ?, first_line = ?, last_line = ? WHERE id = ?", moved
        )
    if added:
        rows = _with_ids(connection, added)
        connection.executemany(
            "INSERT INTO chunk(id, note, scope, ordinal, first_line, last_line,"
            " date, heading, who, topic, text, also, identity)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            rows,
        )
        _add_texts(connection, rows)


# --- The stretch where two lists differ ---


def span_of(old: Sequence[object], new: Sequence[object]) -> Span:
    """Return the stretch where two lists differ."""
    head = _common_length(old, new, _differ)
    tail = _common_length(reversed(old), reversed(new), _differ)
    return _between(old, new, head, tail)


def chunk_span(old: "Sequence[Chunk]", new: "Sequence[Chunk]") -> Span:
    """Return the stretch where the chunks of a note differ, apart from their line numbers."""
    if not old or not new:
        return _between(old, new, 0, 0)
    head = _common_length(old, new)
    tail = _common_length(map(_CONTENT, reversed(old)), map(_CONTENT, reversed(new)))
    # All lines below an edit move by the same distance; a chunk that moved otherwise differs.
    shift = new[-1].first_line - old[-1].first_line
    for line in (_FIRST_LINE, _LAST_LINE):
        new_lines = map(line, reversed(new))
        old_lines = map(line, reversed(old))
        moves = map(sub, new_lines, old_lines)
        tail = min(tail, _common_length(moves, repeat(shift)))
    return _between(old, new, head, tail)._replace(lines=shift)


def _between(old: Sequence[object], new: Sequence[object], head: int, tail: int) -> Span:
    """Return the stretch after `head` equal entries and before `tail` equal entries."""
    shorter = min(len(old), len(new))
    head = min(head, shorter)
    # Fault: in a list of equal entries, beginning and end must not count the same entry
    # twice.
    tail = min(tail, shorter - head)
    return Span(head, len(old) - tail, len(new) - tail)


def _common_length(
    left: Iterable[T], right: Iterable[T], differ: Callable[[T, T], bool] = ne
) -> int:
    """Return how many entries are equal from the start; a huge number when none differs."""
    # All of this loop runs in C, because a note may have 100,000 chunks.
    differences = compress(count(), map(differ, left, right))
    return next(differences, _NO_DIFFERENCE)


def _differ(left: object, right: object) -> bool:
    # Comparing an object with itself field by field would be slow.
    return left is not right and left != right


# --- Full text ---

# Searching is in `fts_search`.


def _add_texts(connection: Connection, rows: Sequence[Row]) -> None:
    """Make the last chunks searchable."""
    # The chunks of a note share headings.
    headings = {
        heading: normalise(heading.replace(SEPARATOR, " "), divided=True)
        for heading in {row[7] for row in rows}
    }
    connection.executemany(
        "INSERT INTO chunk_fts(rowid, body, heading, who, scope) VALUES (?, ?, ?, ?, ?)",
        [
            (
                id_,
                normalise(
                    chunk_text.COMMENT.sub(" ", body) if "%%" in body else body, divided=True
                ),
                headings[heading],
                normalise(who) if who else "",
                f"s{scope:d}" if also is None else f"s{scope:d} s{also:d}",
            )
            for id_, _, scope, _, _, _, _, heading, who, _, body, also, _ in rows
        ],
    )
    term_volumes.add(connection, rows[0][0])


def _remove_texts(connection: Connection, ids: Sequence[tuple[int]]) -> None:
    """Delete chunks from the full text. Call it before their rows are deleted."""
    term_volumes.subtract(connection, ids)
    connection.executemany("DELETE FROM chunk_fts WHERE rowid = ?", ids)
