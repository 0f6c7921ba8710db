"""Full text of the chunks: what goes into FTS5, and how it is asked.

The scope of a chunk is one of its words (``s12``), so that the full text leaves other scopes out before it ranks;
the scope of the row is compared with it once more. Frequencies of words are counted over all scopes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vault_memory.database import Connection
from vault_memory.index.filters import Filters, marks
from vault_memory.memory.words import is_run, normalise, terms, words

ANALYSIS = "1"
"""Stamp of how text becomes words; another one means a new generation of the index"""
HEADING, WHO, BODY = 0.5, 2.0, 1.0
"""How much a word counts in each column"""
TEXT_COLUMNS = "{heading who body}"
_RANK = f"bm25(chunk_fts, 0.0, {HEADING}, {WHO}, {BODY})"


class Found(NamedTuple):
    """A chunk that an arm of a search found, with what ranking needs of it."""

    score: float
    """the higher the better, on the arm's own scale"""
    id: int
    note: int
    ordinal: int
    date: str | None
    who: str
    length: int
    """in letters"""


FIELDS = "c.id, c.note, c.ordinal, c.date, c.who, length(c.text)"
"""The columns of a chunk ``c`` that make a Found, after its score"""


def add(connection: Connection, rows: Iterable[tuple[int, int, str, str, str, str | None]]) -> None:
    """Make chunks searchable: (chunk id, scope id, heading path joined by U+001F, who, text, ISO date)."""
    connection.executemany(
        "INSERT INTO chunk_fts(rowid, scope, heading, who, body) VALUES (?, ?, ?, ?, ?)",
        (
            (id_, f"s{scope}", normalise(heading.replace("\x1f", " ")), normalise(who), normalise(body))
            for id_, scope, heading, who, body, _ in rows
        ),
    )


def remove(connection: Connection, ids: Iterable[tuple[int]]) -> None:
    """Take chunks out of the full text."""
    connection.executemany("DELETE FROM chunk_fts WHERE rowid = ?", ids)


def phrase(word: str) -> str:
    """A word as FTS5 is asked for it; a single letter of a script without spaces is the beginning of a pair."""
    quoted = '"' + word.replace('"', '""') + '"'
    return quoted + " *" if len(word) == 1 and is_run(word) else quoted


def match(scope_ids: Sequence[int], asked: Sequence[str], entity: str | None = None) -> str:
    """The expression for FTS5: in one of the scopes, any of the words, and the entity as a phrase."""
    scopes = " OR ".join(f'"s{scope:d}"' for scope in scope_ids)
    parts = [f"scope : ({scopes})"]
    if asked:
        parts.append(f"{TEXT_COLUMNS} : ({' OR '.join(map(phrase, asked))})")
    if entity is not None:
        parts.append(f"{TEXT_COLUMNS} : ({' + '.join(map(phrase, words(entity))) or NOTHING})")
    return " AND ".join(parts)


NOTHING = '""'
"""A phrase without a word, which nothing has"""


def find(
    connection: Connection, scope_ids: Sequence[int], asked: Sequence[str], filters: Filters, *, most: int
) -> list[Found]:
    """The chunks of these scopes that have any of the words, best first by BM25."""
    if not scope_ids or not asked:
        return []
    expression = match(scope_ids, asked, filters.entity)
    scopes = marks(scope_ids)
    if filters:
        where, values = filters.where()
        sql = f"""
            SELECT -{_RANK} AS score, {FIELDS} FROM chunk_fts CROSS JOIN chunk c ON c.id = chunk_fts.rowid
            WHERE chunk_fts MATCH ? AND c.scope IN {scopes}{where} ORDER BY score DESC, c.id LIMIT ?"""
        rows = connection.execute(sql, (expression, *scope_ids, *values, most))
    else:
        sql = f"""
            WITH best AS MATERIALIZED (
                SELECT rowid AS id, -{_RANK} AS score FROM chunk_fts WHERE chunk_fts MATCH ?
                ORDER BY score DESC, id LIMIT ?)
            SELECT best.score, {FIELDS} FROM best CROSS JOIN chunk c ON c.id = best.id WHERE c.scope IN {scopes}"""
        rows = connection.execute(sql, (expression, most, *scope_ids))
    return sorted((Found._make(row) for row in rows), key=lambda found: (-found.score, found.id))
