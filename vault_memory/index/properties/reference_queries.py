"""Reads the notes and chunks that references name, of the scopes of a caller alone."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.index import fts_search
from vault_memory.index.filters import chunks_in, listed
from vault_memory.markdown.properties.note_properties import Sort

if TYPE_CHECKING:
    from vault_memory.index.store import Index

MOST_CHUNKS = 200
"""Chunks of a note that are searched for a section or a block"""
_NAMED = """
    SELECT path, id FROM note WHERE name = ? AND name <> '' AND scope IN {scopes}
"""
_WITH_ALIAS = f"""
    SELECT note.path, note.id FROM property JOIN note ON note.id = property.note
    WHERE property.sort = {Sort.ALIAS:d} AND property.name = '' AND property.key = ?
        AND note.scope IN {{scopes}}
"""
_BODY = f"""
    SELECT c.id FROM chunk c
    WHERE c.note = ? AND c.first_line > coalesce(
        (SELECT CAST(value AS INTEGER) FROM property
            WHERE note = c.note AND +sort = {Sort.FRONT:d}),
        0
    )
    ORDER BY c.ordinal LIMIT {MOST_CHUNKS}
"""


def notes_named(index: "Index", scope_ids: Sequence[int], key: str) -> dict[str, int]:
    """Return the notes of these scopes with a folded name, else those with the alias, by path."""
    notes: dict[str, int] = {}
    for statement in (_NAMED, _WITH_ALIAS):
        rows: Iterable[Any] = index.connection.execute(
            statement.format(scopes=listed(scope_ids)), (key,)
        )
        notes = dict(rows)
        if notes:
            break
    return notes


def note_at(index: "Index", path: str) -> int | None:
    """Return the id of the note at a path; None when it is not indexed."""
    row = index.connection.execute("SELECT id FROM note WHERE path = ?", (path,)).fetchone()
    return int(row[0]) if row else None


def chunks_of_body(index: "Index", note: int) -> list[int]:
    """Return the first chunks of a note without its front matter, in their order."""
    return [int(row[0]) for row in index.connection.execute(_BODY, (note,))]


def chunks_saying(index: "Index", scope_ids: Sequence[int], words: str) -> list[int]:
    """Return some chunks of these scopes that have these words one after the other."""
    within = fts_search.within_scopes(index, scope_ids)
    expression = f"body : {fts_search.phrase(words)}"
    if within:
        expression += f" AND {within}"
    rows = index.connection.execute(
        "SELECT c.id FROM chunk_fts CROSS JOIN chunk c ON c.id = chunk_fts.rowid"
        f" WHERE chunk_fts MATCH ? AND {chunks_in(scope_ids)} LIMIT {MOST_CHUNKS}",
        (expression,),
    )
    return [int(row[0]) for row in rows]
