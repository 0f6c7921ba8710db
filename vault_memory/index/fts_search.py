"""Full-text search of the chunks, with BM25 scores.

The scope of a chunk is one of its words (``s12``), so the full text leaves other scopes out before
anything is counted. The scope of the row is compared as well.

A score is BM25 with the counts of the scopes of the query: how many chunks they have, how long these
are, and how many of them have a word. The `bm25` of FTS5 counts the whole table, and would reveal how
often a word is used in other people's notes. The ids of rows depend on the order of events, so path and
line decide between equal scores.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import apsw

from vault_memory.database.connection import Connection
from vault_memory.index import term_volumes
from vault_memory.index.exclusion import Exclusion
from vault_memory.index.filters import Filters, chunks_in, notes_with
from vault_memory.index.query_cache import cached
from vault_memory.index.schema import TOKENIZER
from vault_memory.rules.search import scoring as ranking
from vault_memory.rules.search.tokens import is_run, without_last_letters, words

if TYPE_CHECKING:
    from vault_memory.index.store import Index

HEADING, WHO, BODY = 0.5, 2.0, 1.0
"""The weight of a word in each column"""
TEXT_COLUMNS = "{heading who body}"
MOST_ROWS = 8_000
"""Words that together are in more chunks than this are left out, the most frequent first"""
LEAST = 0.01
"""A word is left out if its best score is less than this share of the best score of all words"""
_OCCURRENCES = """
    SELECT
        json_group_array(doc) FILTER (WHERE col = 'heading'),
        json_group_array(doc) FILTER (WHERE col = 'who'),
        json_group_array(doc) FILTER (WHERE col = 'body')
    FROM chunk_word
    WHERE term = ?
"""
NOTHING = '""'
"""A phrase without a word, which no chunk has"""
NO_CHUNKS = Exclusion()
SATURATION, LENGTH_PART = 1.2, 0.6
"""The parameters of BM25, usually called k1 and b"""

FIELDS = (
    f"c.note * {ranking.ORDINALS} + c.ordinal + {ranking.BEFORE_FIRST}, c.id, c.date, c.who, c.text"
)
"""The columns of a chunk ``c`` that make a Row"""

Row = tuple[int, int, str | None, str, str]
"""A chunk with the values that ranking needs: place, id, date, who, text"""
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

    store: "Index"
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
    return cached(index, _volume, tuple(scope_ids))


def _volume(index: "Index", scope_ids: Sequence[int]) -> term_volumes.Volume:
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
        index,
        without.rest_of(volume_of(index, scope_ids)),
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
    for scores in by_word.values():
        # Few chunks have two of the words; what is done for each of thousands runs in C.
        sums = {id_: totals[id_] + scores[id_] for id_ in totals.keys() & scores.keys()}
        totals |= scores | sums
    return totals


def _best(connection: Connection, totals: Mapping[int, float], most: int) -> Sequence[int]:
    """Return the ids with the highest totals. Path and line decide between equal ones."""
    if len(totals) <= most:
        return list(totals)
    last = nlargest(most, totals.values())[-1]
    candidates = [id_ for id_, total in totals.items() if total >= last]
    better = [id_ for id_ in candidates if totals[id_] > last]
    tied = [id_ for id_ in candidates if totals[id_] == last]
    if len(candidates) > most:
        tied = _first(connection, tied, most - len(better))
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
    return quoted + " *" if _is_prefix(word) else quoted


def _is_prefix(word: str) -> bool:
    return len(word) == 1 and is_run(word)


def within_scopes(index: "Index", scope_ids: Sequence[int]) -> str:
    """Return an expression that leaves out other scopes; empty when they have no chunks."""
    volume = volume_of(index, scope_ids)
    if volume.chunks == term_volumes.of(index.connection, [term_volumes.NOWHERE]).chunks:
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
    row = query.store.connection.execute(
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
    frequencies = _frequencies(query, word)
    without = query.without
    # Excluded chunks must not make the word look frequent.
    count = len(frequencies.keys() - without.ids) if without else len(frequencies)
    rarity = _rarity(query.volume.chunks, count)
    for id_ in without.ids - without.repetitions:
        frequencies.pop(id_, None)
    lengths = cached(query.store, term_volumes.Lengths).of(query.store.connection, frequencies)
    average = query.volume.average
    # What does not differ from chunk to chunk is computed once: there may be thousands.
    norms = {
        length: SATURATION * (1 - LENGTH_PART + LENGTH_PART * length / average)
        for length in set(lengths)
    }
    most = SATURATION + 1
    return {
        id_: rarity * (frequency * most / (frequency + norms[length]))
        for (id_, frequency), length in zip(frequencies.items(), lengths, strict=True)
    }


def _frequencies(query: _WordQuery, word: str) -> dict[int, float]:
    """Return how often each chunk has the word, weighted by column."""
    stems = [] if query.within else Stemmer(query.store.connection).stems([word])
    # The list of a word has the chunks of all scopes, and knows no words that are next to
    # each other.
    if len(stems) != 1 or _is_prefix(word):
        _register(query.store.connection)
        sql = "SELECT rowid, frequency(chunk_fts) FROM chunk_fts WHERE chunk_fts MATCH ?"
        return dict(query.store.connection.execute(sql, (query.expression(word),)))
    [(heading, who, body)] = query.store.connection.execute(_OCCURRENCES, stems)
    frequencies: dict[int, float] = dict(Counter(json.loads(body)))
    for weight, ids in ((HEADING, heading), (WHO, who)):
        for id_ in json.loads(ids):
            frequencies[id_] = frequencies.get(id_, 0) + weight
    return frequencies


class Stemmer:
    """The tokenizer of the full text. A thread needs its own."""

    def __init__(self, connection: Connection | None = None) -> None:
        # The tokenizer needs its connection.
        self._connection = connection or Connection(":memory:")
        self._tokenizer = self._connection.fts5_tokenizer(TOKENIZER[0], [*TOKENIZER[1:]])

    def stems(self, words: Iterable[str]) -> list[str]:
        """Returns the stems of these words; a word may have several, or none."""
        raw = " ".join(words).encode()
        stemmed = self._tokenizer(raw, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        return [str(token[-1]) for token in stemmed]


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
        connection.register_fts5_function("frequency", _frequency)
        _registered.add(connection)


def _frequency(chunk: apsw.FTS5ExtensionApi, *arguments: Any) -> float:
    body, heading, who, last = chunk.phrase_locations(0)
    # Fault: an index of an earlier version, which serves until it is built again, has the body last.
    return HEADING * len(heading) + WHO * len(who) + BODY * (len(body) + len(last))


# --- Rows ---


def fetch(index: "Index", scope_ids: Sequence[int], ids: Sequence[int]) -> list[Row]:
    """Return the rows of the chunks that are in these scopes."""
    rows: list[Any] = index.connection.execute(
        f"SELECT {FIELDS}"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.id = wanted.value"
        f" WHERE {chunks_in(scope_ids)}",
        (_as_json(ids),),
    ).fetchall()
    return rows


def paths(index: "Index", notes: Iterable[int]) -> dict[int, str]:
    """Return the paths of these notes, by id."""
    sql = "SELECT n.id, n.path FROM json_each(?) wanted CROSS JOIN note n ON n.id = wanted.value"
    return dict(index.connection.execute(sql, (_as_json(notes),)))


def beside(
    index: "Index", scope_ids: Sequence[int], places: Iterable[int], filters: Filters
) -> dict[int, Row]:
    """Return the chunks of these scopes at these places that pass the filters."""
    conditions, values = chunk_conditions(filters)
    rows = index.connection.execute(
        f"SELECT {FIELDS}"
        " FROM json_each(?) wanted"
        f" CROSS JOIN chunk c ON c.note = wanted.value / {ranking.ORDINALS}"
        f" AND c.ordinal = wanted.value % {ranking.ORDINALS} - {ranking.BEFORE_FIRST}"
        f" WHERE {chunks_in(scope_ids)}{conditions}",
        (_as_json(places), *values),
    )
    return {row[0]: row for row in rows}


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


def _as_json(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"
