"""Reads notes and chunks as answers and contexts show them."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.index.filters import chunks_in, listed, marks

if TYPE_CHECKING:
    from vault_memory.index.store import Index

STANDING_KINDS = ("user", "rules", "facts", "memory", "channel", "transcript")
"""Kinds of notes whose names say nothing about what is in them"""
_DETAILS = """
    SELECT c.id, note.path, c.first_line, c.last_line, c.heading, c.date, scope.name,
        note.kind, c.text
    FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value
    JOIN note ON note.id = c.note
    JOIN scope ON scope.id = iif(c.scope IN {scopes}, c.scope, c.also)
    WHERE {condition}
"""
FIELD, ALIAS, FRONT = 0, 3, 6
"""Values of `note_properties.Sort`, whose module a search need not load"""
_OTHER_NAMES = f"sort = {ALIAS:d} AND name = '' OR sort = {FIELD:d} AND name = 'title'"
"""The condition of properties that are names of a note beside that of its file"""
_BODIES = f"""
    SELECT c.id, (
        SELECT body.id FROM chunk body
        WHERE body.note = c.note AND body.first_line > CAST(front.value AS INTEGER)
        ORDER BY body.ordinal LIMIT 1
    ) AS first_of_body
    FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value
    JOIN property front ON front.note = c.note AND +front.sort = {FRONT:d}
    WHERE c.last_line <= CAST(front.value AS INTEGER) AND first_of_body IS NOT NULL
"""


class ChunkDetails(NamedTuple):
    """Where a chunk is, and its text."""

    path: str
    first_line: int
    last_line: int
    heading: str
    """Its headings, joined by `chunk_rows.SEPARATOR`"""
    date: str | None
    """ISO 8601"""
    scope: str
    """Of its two scopes the one that was asked for"""
    kind: str
    """The kind of its note"""
    text: str


class DatedNote(NamedTuple):
    """A note with the day in its name."""

    kind: str
    scope: str
    day: str | None
    """ISO 8601"""
    path: str


def details_of(
    index: "Index", scope_ids: Sequence[int], ids: Iterable[int]
) -> dict[int, ChunkDetails]:
    """Return those of these chunks that are in the scopes, by id."""
    sql = _DETAILS.format(scopes=marks(scope_ids), condition=chunks_in(scope_ids))
    numbers = f"[{','.join(map(str, ids))}]"
    rows = index.connection.execute(sql, (numbers, *scope_ids))
    return {row[0]: ChunkDetails._make(row[1:]) for row in rows}


def bodies_of(index: "Index", ids: Iterable[int]) -> dict[int, int]:
    """Return for each of these chunks that is front matter the first chunk of the body."""
    numbers = f"[{','.join(map(str, ids))}]"
    rows = index.connection.execute(_BODIES, (numbers,))
    return {int(front): int(body) for front, body in rows}


def all_notes(index: "Index", scopes: Sequence[str] | None) -> Iterator[Any]:
    """Yield path, scope, kind, revision and bytes of the notes of these scopes, or all, by path."""
    chosen = "" if scopes is None else f" WHERE scope.id IN {listed(index.scope_ids(scopes))}"
    return index.connection.execute(
        "SELECT note.path, scope.name, note.kind, note.revision, note.bytes"
        " FROM note"
        f" JOIN scope ON scope.id = note.scope{chosen}"
        " ORDER BY note.path"
    )


def kind_of(index: "Index", path: str) -> str:
    """Return the kind of a note; empty when the note is not indexed."""
    row = index.connection.execute("SELECT kind FROM note WHERE path = ?", (path,)).fetchone()
    return str(row[0]) if row else ""


def notes_of_kinds(
    index: "Index", scope_ids: Sequence[int], kinds: Collection[str], days: tuple[str, str]
) -> list[DatedNote]:
    """Return the notes of these kinds and scopes, those of kind `dated` only of these days.

    `days` are the first and the last day, ISO 8601.
    """
    kind_names = tuple(kinds)
    rows = index.connection.execute(
        "SELECT n.kind, s.name, n.date, n.path"
        " FROM note n"
        " JOIN scope s ON s.id = n.scope"
        f" WHERE n.scope IN {listed(scope_ids)}"
        f" AND n.kind IN {marks(kind_names)}"
        " AND (n.kind <> 'dated' OR n.date BETWEEN ? AND ?)",
        (*kind_names, *days),
    )
    return [DatedNote._make(row) for row in rows]


def notes_with_names(
    index: "Index", scope_ids: Sequence[int], names: Collection[str], *, with_aliases: bool
) -> frozenset[int]:
    """Return the notes of these scopes with one of these folded names.

    `with_aliases` adds their aliases and titles. Notes that each vault has, such as USER.md, are left out.
    """
    listed_names = "(SELECT value FROM json_each(?1))"
    conditions = [f"name <> '' AND name IN {listed_names}"]
    if with_aliases:
        notes = f"SELECT note FROM property WHERE ({_OTHER_NAMES}) AND key IN {listed_names}"
        conditions.append(f"id IN ({notes})")
    # The plus keeps SQLite from reading each note of the scopes: few have one of the names.
    place = f"+scope IN {listed(scope_ids)} AND kind NOT IN {STANDING_KINDS}"
    rows = index.connection.execute(
        " UNION ".join(
            f"SELECT id FROM note WHERE {condition} AND {place}" for condition in conditions
        ),
        (json.dumps(list(names)),),
    )
    return frozenset(row[0] for row in rows)


def has_other_names(index: "Index") -> bool:
    """Return whether any note has an alias, or a title in its fields."""
    rows = index.connection.execute(f"SELECT 1 FROM property WHERE {_OTHER_NAMES} LIMIT 1")
    return bool(rows.fetchall())


def newest_of_kind(index: "Index", scope_ids: Sequence[int], kind: str) -> Iterator[DatedNote]:
    """Yield the notes of a kind in these scopes, the newest first."""
    rows = index.connection.execute(
        "SELECT n.kind, s.name, n.date, n.path"
        " FROM note n"
        " JOIN scope s ON s.id = n.scope"
        f" WHERE n.scope IN {listed(scope_ids)} AND n.kind = ?"
        " ORDER BY n.date DESC, n.path",
        (kind,),
    )
    return map(DatedNote._make, rows)
