"""Full-text search of the chunks, with BM25 scores.

The scope of a chunk is one of its words (``s12``), so the full text leaves other scopes out before
anything is counted. The scope of the row is compared as well.

A score is BM25 with the counts of the scopes of the query: how many chunks they have, how long these
are, and how many of them have a word. The `bm25` of FTS5 counts the whole table, and would reveal how
often a word is used in other people's notes. The ids of rows depend on the order of events, so path and
line decide between equal scores.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from vault_memory.database.connection import Connection
from vault_memory.index import term_volumes
from vault_memory.index.exclusion import Exclusion
from vault_memory.index.filters import Filters, chunks_in, notes_with
from vault_memory.index.query_cache import CachedScopes, Row, cache_of
from vault_memory.rules.search import scoring as ranking
from vault_memory.rules.search.tokens import is_run, without_last_letters, words

if TYPE_CHECKING:
    import apsw

    from vault_memory.index.store import Index

HEADING, WHO, BODY = 0.5, 2.0, 1.0
"""The weight of a word in each column"""
TEXT_COLUMNS = "{heading who body}"
MOST_ROWS = 8_000
"""Words that together are in more chunks than this are left out, the most frequent first"""
LEAST = 0.01
"""A word is left out if its best score is less than this share of the best score of all words"""
NOTHING = '""'
"""A phrase without a word, which no chunk has"""
NO_CHUNKS = Exclusion()
SATURATION, LENGTH_PART = 1.2, 0.6
"""The parameters of BM25, usually called k1 and b"""

FIELDS = (
    f"c.note * {ranking.ORDINALS} + c.ordinal + {ranking.BEFORE_FIRST}, c.id, c.date, c.who, c.text"
)
"""The columns of a chunk ``c`` that make a Row"""

Scores = dict[int, float]
"""BM25 scores by chunk id or by place; higher is better"""


class Matches(NamedTuple):
    """The chunks that have any word of a query."""

    rows: dict[int, Row]
    """By place"""
    by_word: dict[str, Scores]
    """For each word of the search, its scores by place"""


class _WordQuery(NamedTuple):
    """What the search for each word of one query has in common."""

    connection: Connection
    scope_ids: Sequence[int]
    volume: term_volumes.Volume
    """The size of the scopes, without excluded chunks"""
    within: str
    """An FTS5 expression that leaves out other scopes; empty when there are none"""
    without: Exclusion

    def expression(self, word: str) -> str:
        """Return the FTS5 expression of a word."""
        return f"{TEXT_COLUMNS} : {phrase(word)}{self.within}"


# --- Search ---


def prepare(index: "Index", filters: Filters) -> None:
    """Give the index the functions that these filters use. Call it before they are used."""
    filters.prepare(index.connection)


def volume_of(index: "Index", scope_ids: Sequence[int]) -> term_volumes.Volume:
    """Return the size of these scopes."""
    return term_volumes.of(index.connection, scope_ids)


def find(
    index: "Index",
    scope_ids: Sequence[int],
    query_words: Sequence[str],
    filters: Filters,
    *,
    most: int,
    without: Exclusion = NO_CHUNKS,
) -> Matches:
    """Return the `most` best chunks of these scopes for the words of a query.

    Chunks in `without` are neither returned nor counted.
    """
    if not scope_ids:
        return Matches({}, {})
    query = _WordQuery(
        index.connection,
        scope_ids,
        without.rest_of(term_volumes.of(index.connection, scope_ids)),
        _and(within_scopes(index, scope_ids)),
        without,
    )
    searched_words = _without_frequent(query, query_words)
    scored = {word: _scores(query, word) for word in searched_words}
    by_word = _without_weak(_filtered(index.connection, scope_ids, scored, filters))
    best = _best(index.connection, _totals(by_word), most)
    rows = fetch(index, scope_ids, best)
    places = {row[1]: row[0] for row in rows}
    return Matches(
        {row[0]: row for row in rows},
        {word: _by_place(places, scores) for word, scores in by_word.items()},
    )


def _totals(by_word: Mapping[str, Scores]) -> Scores:
    """Return the sum of the scores of each chunk."""
    totals: Scores = {}
    get = totals.get  # a local name: the loop runs for each of thousands of chunks
    for scores in by_word.values():
        for id_, score in scores.items():
            totals[id_] = get(id_, 0.0) + score
    return totals


def _best(connection: Connection, totals: Mapping[int, float], most: int) -> Sequence[int]:
    """Return the ids with the highest totals. Path and line decide between equal ones."""
    if len(totals) <= most:
        return list(totals)
    last = nlargest(most, totals.values())[-1]
    better = [id_ for id_, total in totals.items() if total > last]
    tied = [id_ for id_, total in totals.items() if total == last]
    room = most - len(better)
    if len(tied) > room:
        tied = _first(connection, tied, room)
    return better + tied


def _first(connection: Connection, ids: Sequence[int], most: int) -> list[int]:
    """Return the first of these chunks by path and line."""
    rows = connection.execute(
        "SELECT c.id"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.id = wanted.value"
        " JOIN note n ON n.id = c.note"
        " ORDER BY n.path, c.ordinal"
        " LIMIT ?",
        (_as_json(ids), most),
    )
    return [row[0] for row in rows]


def _by_place(places: dict[int, int], scores: Scores) -> Scores:
    """Return the scores of the chunks in `places`, by place instead of id."""
    # The loop goes over the shorter mapping: a frequent word has thousands of scores.
    if len(scores) > len(places):
        return {place: scores[id_] for id_, place in places.items() if id_ in scores}
    return {places[id_]: score for id_, score in scores.items() if id_ in places}


def _without_weak(by_word: dict[str, Scores]) -> dict[str, Scores]:
    """Leave out words that are nearly everywhere, and so say little beside the others."""
    highest = {word: max(scores.values(), default=0.0) for word, scores in by_word.items()}
    best_score = max(highest.values(), default=0.0)
    least = LEAST * best_score
    return {word: scores for word, scores in by_word.items() if highest[word] >= least}


# --- Expressions of FTS5 ---


def phrase(word: str) -> str:
    """Return a word as an FTS5 phrase.

    A single letter of a script without spaces is the beginning of a pair.
    """
    # Fault: a quotation mark in a word would end the phrase, and the rest would be an
    # operator of FTS5.
    quoted = '"' + word.replace('"', '""') + '"'
    return quoted + " *" if len(word) == 1 and is_run(word) else quoted


def within_scopes(index: "Index", scope_ids: Sequence[int]) -> str:
    """Return an expression that leaves out other scopes; empty when they have no chunks."""
    volume = term_volumes.of(index.connection, scope_ids)
    if volume.chunks == term_volumes.of_all(index.connection).chunks:
        return ""
    scope_words = [f"s{scope_id:d}" for scope_id in scope_ids]
    return f"scope : ({' OR '.join(scope_words)})"


def naming(names: Sequence[str]) -> str:
    """Return an expression for chunks that contain one of the names."""
    phrases: list[str] = []
    for name in names:
        name_words = without_last_letters(words(name))
        # Fault: FTS5 refuses an empty phrase, as a name of signs alone would give.
        phrases.append(" + ".join(map(phrase, name_words)) or NOTHING)
    return f"{TEXT_COLUMNS} : ({' OR '.join(phrases)})"


def _and(expression: str) -> str:
    return f" AND {expression}" if expression else ""


# --- Words ---


def _without_frequent(query: _WordQuery, query_words: Sequence[str]) -> list[str]:
    """Leave out the most frequent words, if all together are in too many chunks."""
    # In a small vault counting costs more than it saves.
    most_matches = len(query_words) * query.volume.chunks
    if len(query_words) < 2 or most_matches <= 3 * MOST_ROWS:
        return list(query_words)
    counts = {word: _count(query, word) for word in query_words}
    room = MOST_ROWS
    rare: set[str] = set()
    for word in sorted(counts, key=lambda word: counts[word]):
        room -= counts[word]
        if rare and room < 0:
            break
        if counts[word]:
            rare.add(word)
    return [word for word in query_words if word in rare]


def _count(query: _WordQuery, word: str) -> int:
    """Return how many chunks have a word. Counting stops at `MOST_ROWS`."""
    row = query.connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?)",
        (query.expression(word), MOST_ROWS),
    ).fetchone()
    return row[0] if row else 0


def has(index: "Index", word: str, around: str = "", without: frozenset[int] = frozenset()) -> bool:
    """Return whether any chunk has the word. `around` is an expression of `within_scopes`."""
    expression = f"{TEXT_COLUMNS} : {phrase(word)}{_and(around)}"
    sql = "SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?"
    rows = index.connection.execute(sql, (expression, len(without) + 1))
    return any(id_ not in without for (id_,) in rows)


def _scores(query: _WordQuery, word: str) -> Scores:
    """Return the chunks with this word, by id, each with the BM25 score of the word."""
    expression = query.expression(word)
    cache = cache_of(query.connection, query.scope_ids)
    key = (expression, query.without.ids)
    if key not in cache.scores:
        cache.add_scores(key, _search_word(query, expression))
    return cache.scores[key]


def _search_word(query: _WordQuery, expression: str) -> Scores:
    """Search the full text for a word, and score each chunk that has it."""
    without = query.without
    _register(query.connection)
    weights: list[Any] = query.connection.execute(
        "SELECT rowid, word_weight(chunk_fts, ?) FROM chunk_fts WHERE chunk_fts MATCH ?",
        (query.volume.average, expression),
    ).fetchall()
    count = len(weights)
    if without:
        # Excluded chunks must not make the word look frequent.
        count = sum(id_ not in without.ids for id_, _ in weights)
    rarity = _rarity(query.volume.chunks, count)
    hidden = without.ids - without.repetitions
    return {id_: rarity * weight for id_, weight in weights if id_ not in hidden}


def _rarity(chunks: int, count: int) -> float:
    """Return the weight of a word that `count` of the chunks have.

    It is more than nothing in a scope of three chunks, too.
    """
    without_word = max(chunks - count, 0)
    return math.log1p((without_word + 0.5) / (count + 0.5))


_registered: WeakSet[Connection] = WeakSet()


def _register(connection: Connection) -> None:
    """Give the connection the function that reads from FTS5 how often a chunk has a word."""
    if connection not in _registered:
        connection.register_fts5_function("word_weight", _word_weight)
        _registered.add(connection)


def _word_weight(chunk: "apsw.FTS5ExtensionApi", *arguments: Any) -> float:
    """Return the part of BM25 that depends on one chunk: frequency of the word, and length."""
    (average,) = arguments
    _, heading, who, body = chunk.phrase_locations(0)
    frequency = HEADING * len(heading) + WHO * len(who) + BODY * len(body)
    length = 1 - LENGTH_PART + LENGTH_PART * chunk.column_size(-1) / average
    weight: float = frequency * (SATURATION + 1) / (frequency + SATURATION * length)
    return weight


# --- Rows ---


def fetch(index: "Index", scope_ids: Sequence[int], ids: Sequence[int]) -> list[Row]:
    """Return the rows of the chunks that are in these scopes."""
    cache = cache_of(index.connection, scope_ids)
    unread = [id_ for id_ in ids if id_ not in cache.by_id]
    cached = [cache.by_id[id_] for id_ in ids if id_ in cache.by_id]
    if not unread:
        return cached
    rows: list[Any] = index.connection.execute(
        f"SELECT {FIELDS}"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.id = wanted.value"
        f" WHERE {chunks_in(scope_ids)}",
        (_as_json(unread),),
    ).fetchall()
    cache.add_rows(rows)
    return cached + rows


def paths(index: "Index", scope_ids: Sequence[int], notes: Collection[int]) -> dict[int, str]:
    """Return the paths of these notes, by id."""
    cached = cache_of(index.connection, scope_ids).paths
    unread = [note for note in notes if note not in cached]
    if unread:
        sql = (
            "SELECT n.id, n.path FROM json_each(?) wanted CROSS JOIN note n ON n.id = wanted.value"
        )
        cached.update(index.connection.execute(sql, (_as_json(unread),)))
    return {note: cached[note] for note in notes if note in cached}


def beside(
    index: "Index", scope_ids: Sequence[int], places: Sequence[int], filters: Filters
) -> dict[int, Row]:
    """Return the chunks of these scopes at these places that pass the filters."""
    # Fault: rows that were filtered must not be cached as if nothing were at the other
    # places.
    cache = CachedScopes() if filters else cache_of(index.connection, scope_ids)
    cached = {place: row for place in places if (row := cache.by_place.get(place))}
    unread = [place for place in places if place not in cache.by_place]
    if not unread:
        return cached
    conditions, values = chunk_conditions(filters)
    rows: list[Any] = index.connection.execute(
        f"SELECT {FIELDS}"
        " FROM json_each(?) wanted"
        f" CROSS JOIN chunk c ON c.note = wanted.value / {ranking.ORDINALS}"
        f" AND c.ordinal = wanted.value % {ranking.ORDINALS} - {ranking.BEFORE_FIRST}"
        f" WHERE {chunks_in(scope_ids)}{conditions}",
        (_as_json(unread), *values),
    ).fetchall()
    cache.add_rows(rows, unread)
    return cached | {row[0]: row for row in rows}


def dated(
    index: "Index",
    scope_ids: Sequence[int],
    days: Sequence[tuple[str, str]],
    filters: Filters,
    *,
    most: int,
) -> dict[int, Row]:
    """Return chunks of notes of these days (ISO 8601, both ends included), the latest first."""
    conditions, values = chunk_conditions(filters)
    sql = (
        f"SELECT {FIELDS}"
        " FROM note n"
        " CROSS JOIN chunk c ON c.note = n.id"
        f" WHERE {notes_with(scope_ids)}"
        " AND n.date BETWEEN ? AND ?"
        f" AND {chunks_in(scope_ids)}{conditions}"
        " ORDER BY n.date DESC, n.path, c.ordinal"
        " LIMIT ?"
    )
    chunks: dict[int, Row] = {}
    for first, last in days:
        for row in index.connection.execute(sql, (first, last, *values, most)):
            chunks[row[0]] = row
    return chunks


def passing(index: "Index", scope_ids: Sequence[int], filters: Filters) -> set[int]:
    """Return the places of all chunks of these scopes that pass the filters."""
    conditions, values = chunk_conditions(filters)
    rows = index.connection.execute(
        "SELECT c.note, c.ordinal"
        " FROM note n"
        " CROSS JOIN chunk c ON c.note = n.id"
        f" WHERE {notes_with(scope_ids)}"
        f" AND {chunks_in(scope_ids)}{conditions}",
        tuple(values),
    )
    return {ranking.place(note, ordinal) for note, ordinal in rows}


def count(index: "Index", scope_ids: Sequence[int], filters: Filters) -> int:
    """Return how many chunks of these scopes pass the filters."""
    return len(passing(index, scope_ids, filters))


def chunk_conditions(filters: Filters) -> tuple[str, list[object]]:
    """Return the filters as conditions on a chunk ``c``, for a query without the full text."""
    conditions, values = filters.conditions()
    if filters.entity is not None:
        conditions += " AND c.id IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)"
        values.append(naming(filters.entity_names))
    return conditions, values


def _filtered(
    connection: Connection, scope_ids: Sequence[int], by_word: dict[str, Scores], filters: Filters
) -> dict[str, Scores]:
    """Leave out chunks that do not pass the filters. The rarity of a word ignores filters."""
    if not filters:
        return by_word
    conditions, values = chunk_conditions(filters)
    ids = list(set().union(*by_word.values()))
    rows = connection.execute(
        "SELECT c.id"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.id = wanted.value"
        f" WHERE {chunks_in(scope_ids)}{conditions}",
        (_as_json(ids), *values),
    )
    passed = {row[0] for row in rows}
    return {
        word: {id_: score for id_, score in scores.items() if id_ in passed}
        for word, scores in by_word.items()
    }


def _as_json(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"
