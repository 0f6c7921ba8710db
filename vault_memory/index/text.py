"""The full text of the chunks, and how it is asked; what goes into it stands in `full_text`.

The scope of a chunk is one of its words (``s12``), so that the full text leaves other scopes out before anything is
counted; the scope of the row is compared once more. How rare a word is, is counted over all scopes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from vault_memory.database import Connection
from vault_memory.index.filters import Filters, chunks_in, marks, notes_with
from vault_memory.index.kept import Kept, Row, kept
from vault_memory.memory import ranking
from vault_memory.memory.words import is_run, without_last_letters, words

HEADING, WHO, BODY = 0.5, 2.0, 1.0
"""How much a word counts in each column"""
TEXT_COLUMNS = "{heading who body}"
MOST_ROWS = 8_000
"""Words that stand in more chunks than this, all together, are not looked for while rarer ones remain"""
LEAST = 0.01
"""A word is left out that says less than this part of what the most telling one says"""
NOTHING = '""'
"""A phrase without a word, which nothing has"""
_SCORE = f"-bm25(chunk_fts, 0.0, {HEADING}, {WHO}, {BODY})"


FIELDS = f"c.note * {ranking.ORDINALS} + c.ordinal + {ranking.BEFORE_FIRST}, c.id, c.date, c.who, c.text"
"""The columns of a chunk ``c`` that make a Row"""


class Matches(NamedTuple):
    """The chunks that have any of the words asked for."""

    found: dict[int, Row]
    """by place"""
    by_word: dict[str, dict[int, float]]
    """for each word that was looked for, its BM25 scores by place, the higher the better"""


def phrase(word: str) -> str:
    """A word as FTS5 is asked for it; a single letter of a script without spaces is the beginning of a pair."""
    quoted = '"' + word.replace('"', '""') + '"'
    return quoted + " *" if len(word) == 1 and is_run(word) else quoted


def find(
    connection: Connection, scope_ids: Sequence[int], asked: Sequence[str], filters: Filters, *, most: int
) -> Matches:
    """The `most` chunks of these scopes in which these words say the most."""
    if not scope_ids:
        return Matches({}, {})
    around = _limits(connection, scope_ids, filters)
    rare = _rare(connection, asked)
    by_word = _telling({word: _scores(connection, scope_ids, word, around, filters) for word in rare})
    totals: dict[int, float] = {}
    get = totals.get
    for scores in by_word.values():
        for id_, score in scores.items():
            totals[id_] = get(id_, 0.0) + score
    best = list(totals) if len(totals) <= most else sorted(sorted(totals), key=totals.__getitem__, reverse=True)[:most]
    rows = fetch(connection, scope_ids, best)
    places = {row[1]: row[0] for row in rows}
    return Matches(
        {row[0]: row for row in rows},
        {word: _at(places, scores) for word, scores in by_word.items()},
    )


def _at(places: dict[int, int], scores: dict[int, float]) -> dict[int, float]:
    """The scores of these chunks, by place."""
    if len(scores) > len(places):
        return {place: scores[id_] for id_, place in places.items() if id_ in scores}
    return {places[id_]: score for id_, score in scores.items() if id_ in places}


def _telling(by_word: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """The words without those that stand nearly everywhere, and so say nothing beside the others."""
    highest = {word: max(scores.values(), default=0.0) for word, scores in by_word.items()}
    least = max(highest.values(), default=0.0) * LEAST
    return {word: scores for word, scores in by_word.items() if highest[word] >= least}


def fetch(connection: Connection, scope_ids: Sequence[int], ids: Sequence[int]) -> list[Row]:
    """Those of the chunks that are in these scopes."""
    known = kept(connection, scope_ids)
    unread = [id_ for id_ in ids if id_ not in known.by_id]
    if not unread:
        return [known.by_id[id_] for id_ in ids]
    rows: list[Any] = connection.execute(
        f"SELECT {FIELDS} FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value"
        f" WHERE {chunks_in(scope_ids)}",
        (f"[{','.join(map(str, unread))}]",),
    ).fetchall()
    held = [known.by_id[id_] for id_ in ids if id_ in known.by_id]
    known.keep_rows(rows)
    return held + rows


def within_scopes(connection: Connection, scope_ids: Sequence[int]) -> str:
    """What the full text is asked so that other scopes are left out; empty when there are no others."""
    others = connection.execute(
        f"SELECT 1 FROM scope s WHERE id NOT IN {marks(scope_ids)} AND EXISTS (SELECT 1 FROM note WHERE scope = s.id)",
        tuple(scope_ids),
    ).fetchone()
    return f"scope : ({' OR '.join(f's{scope:d}' for scope in scope_ids)})" if others else ""


def naming(names: Sequence[str]) -> str:
    """What the full text is asked for chunks that have one of the names."""
    phrases = (" + ".join(map(phrase, without_last_letters(words(name)))) or NOTHING for name in names)
    return f"{TEXT_COLUMNS} : ({' OR '.join(phrases)})"


def _limits(connection: Connection, scope_ids: Sequence[int], filters: Filters) -> str:
    """What is asked beside a word: scopes and entity, each begun with AND."""
    parts = [within_scopes(connection, scope_ids)]
    if filters.entity is not None:
        parts.append(naming(filters.entity_names))
    return "".join(f" AND {part}" for part in parts if part)


def _rare(connection: Connection, asked: Sequence[str]) -> list[str]:
    """The words without the most frequent ones, when all together stand in too many chunks."""
    row = connection.execute("SELECT max(id) FROM chunk").fetchone()
    if len(asked) < 2 or len(asked) * (row[0] or 0 if row else 0) <= 3 * MOST_ROWS:  # not worth counting
        return list(asked)
    counts = {word: _count(connection, word) for word in asked}
    room, kept = MOST_ROWS, set[str]()
    for word in sorted(counts, key=lambda word: counts[word]):
        room -= counts[word]
        if kept and room < 0:
            break
        if counts[word]:
            kept.add(word)
    return [word for word in asked if word in kept]


def _count(connection: Connection, word: str) -> int:
    """In how many chunks a word stands; counting stops at `MOST_ROWS`."""
    row = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?)",
        (f"{TEXT_COLUMNS} : {phrase(word)}", MOST_ROWS),
    ).fetchone()
    return row[0] if row else 0


def has(connection: Connection, word: str, around: str = "") -> bool:
    """Whether any chunk has the word; only within what `within_scopes` gave, when that is given."""
    expression = f"{TEXT_COLUMNS} : {phrase(word)}" + (f" AND {around}" if around else "")
    sql = "SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT 1"
    return connection.execute(sql, (expression,)).fetchone() is not None


def _scores(
    connection: Connection, scope_ids: Sequence[int], word: str, around: str, filters: Filters
) -> dict[int, float]:
    """The chunks with this word within the limits, by id, each with the BM25 score of the word."""
    expression = f"{TEXT_COLUMNS} : {phrase(word)}{around}"
    conditions, values = filters.where()
    if conditions:
        sql = f"""
            SELECT chunk_fts.rowid, {_SCORE} AS score FROM chunk_fts CROSS JOIN chunk c ON c.id = chunk_fts.rowid
            WHERE chunk_fts MATCH ? AND {chunks_in(scope_ids)}{conditions}
            ORDER BY score DESC, chunk_fts.rowid LIMIT ?"""
        return dict(connection.execute(sql, (expression, *values, MOST_ROWS)))
    known = kept(connection, scope_ids)
    if expression not in known.scores:
        sql = f"SELECT rowid, {_SCORE} FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?"
        known.keep_scores(expression, dict(connection.execute(sql, (expression, MOST_ROWS))))
    return known.scores[expression]


def beside(connection: Connection, scope_ids: Sequence[int], places: Sequence[int], filters: Filters) -> dict[int, Row]:
    """The chunks of these scopes at these places, as far as the filters let them through."""
    known = kept(connection, scope_ids) if not filters else Kept()
    unread = [place for place in places if place not in known.by_place]
    if unread:
        conditions, values = chunk_conditions(filters)
        rows: list[Any] = connection.execute(
            f"SELECT {FIELDS} FROM json_each(?) wanted CROSS JOIN chunk c ON c.note = wanted.value / {ranking.ORDINALS}"
            f" AND c.ordinal = wanted.value % {ranking.ORDINALS} - {ranking.BEFORE_FIRST}"
            f" WHERE {chunks_in(scope_ids)}{conditions}",
            (f"[{','.join(map(str, unread))}]", *values),
        ).fetchall()
        held = [row for place in places if (row := known.by_place.get(place))]
        known.keep_rows(rows, unread)
        return {row[0]: row for row in (*held, *rows)}
    return {place: row for place in places if (row := known.by_place[place])}


def dated(
    connection: Connection,
    scope_ids: Sequence[int],
    days: Sequence[tuple[str, str]],
    filters: Filters,
    *,
    most: int,
) -> dict[int, Row]:
    """Chunks of these scopes in notes of these days (ISO 8601, both ends included), the latest first."""
    conditions, values = chunk_conditions(filters)
    found: dict[int, Row] = {}
    for first, last in days:
        rows = connection.execute(
            f"SELECT {FIELDS} FROM note n CROSS JOIN chunk c ON c.note = n.id WHERE {notes_with(scope_ids)}"
            f" AND n.date BETWEEN ? AND ? AND {chunks_in(scope_ids)}{conditions}"
            " ORDER BY n.date DESC, n.path, c.ordinal LIMIT ?",
            (first, last, *values, most),
        )
        found |= {row[0]: row for row in rows}
    return found


def chunk_conditions(filters: Filters) -> tuple[str, list[object]]:
    """The filters as conditions on a chunk ``c``, for a query that does not ask the full text itself."""
    conditions, values = filters.where()
    if filters.entity is not None:
        conditions += " AND c.id IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)"
        values.append(naming(filters.entity_names))
    return conditions, values


def passing(connection: Connection, scope_ids: Sequence[int], filters: Filters) -> set[int]:
    """The places of all chunks of these scopes that the filters let through."""
    conditions, values = chunk_conditions(filters)
    rows = connection.execute(
        f"SELECT c.note, c.ordinal FROM note n CROSS JOIN chunk c ON c.note = n.id WHERE {notes_with(scope_ids)}"
        f" AND {chunks_in(scope_ids)}{conditions}",
        tuple(values),
    )
    return {ranking.place(note, ordinal) for note, ordinal in rows}


def count(connection: Connection, scope_ids: Sequence[int], filters: Filters) -> int:
    """How many chunks of these scopes the filters let through."""
    return len(passing(connection, scope_ids, filters))
