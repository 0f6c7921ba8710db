"""The full text of the chunks, and how it is asked; what goes into it stands in `full_text`.

The scope of a chunk is one of its words (``s12``), so that the full text leaves other scopes out before anything is
counted; the scope of the row is compared once more.

A score is BM25 with the counts of the scopes that are asked: how many chunks they have, how long these are, and in how
many of them a word stands. The `bm25` of FTS5 counts the whole table, and would tell a reader how often a word stands
in other people's notes. Ids of rows depend on the order of events: where scores are equal, path and line decide.
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
from vault_memory.index.query_cache import Kept, Row, kept
from vault_memory.rules.search import scoring as ranking
from vault_memory.rules.search.tokens import is_run, without_last_letters, words

if TYPE_CHECKING:
    import apsw

HEADING, WHO, BODY = 0.5, 2.0, 1.0
"""How much a word counts in each column"""
TEXT_COLUMNS = "{heading who body}"
MOST_ROWS = 8_000
"""Words that stand in more chunks than this, all together, are not looked for while rarer ones remain"""
LEAST = 0.01
"""A word is left out that says less than this part of what the most telling one says"""
NOTHING = '""'
"""A phrase without a word, which nothing has"""
NO_CHUNKS = Exclusion()
SATURATION, LENGTH_PART = 1.2, 0.6
"""The parameters of BM25, usually called k1 and b"""


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
    connection: Connection,
    scope_ids: Sequence[int],
    asked: Sequence[str],
    filters: Filters,
    *,
    most: int,
    without: Exclusion = NO_CHUNKS,
) -> Matches:
    """The `most` chunks of these scopes in which these words say the most; those `without` count nowhere."""
    if not scope_ids:
        return Matches({}, {})
    around = _and(within_scopes(connection, scope_ids))
    volume = without.rest_of(term_volumes.of(connection, scope_ids))
    asked = _rare(connection, volume, asked, around)
    scored = {
        word: _scores(connection, scope_ids, volume, word, around, without)
        for word in asked
    }
    by_word = _telling(_narrowed(connection, scope_ids, scored, filters))
    totals: dict[int, float] = {}
    get = totals.get
    for scores in by_word.values():
        for id_, score in scores.items():
            totals[id_] = get(id_, 0.0) + score
    rows = fetch(connection, scope_ids, _best(connection, totals, most))
    places = {row[1]: row[0] for row in rows}
    return Matches(
        {row[0]: row for row in rows},
        {word: _at(places, scores) for word, scores in by_word.items()},
    )


def _best(
    connection: Connection, totals: Mapping[int, float], most: int
) -> Sequence[int]:
    """The ids of the chunks with the highest totals, those as good as the last by path and line."""
    if len(totals) <= most:
        return list(totals)
    last = nlargest(most, totals.values())[-1]
    better = [id_ for id_, total in totals.items() if total > last]
    tied = [id_ for id_, total in totals.items() if total == last]
    room = most - len(better)
    return better + (tied if len(tied) == room else _first(connection, tied, room))


def _first(connection: Connection, ids: Sequence[int], most: int) -> list[int]:
    """The first of these chunks by path and line."""
    rows = connection.execute(
        "SELECT c.id FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value JOIN note n ON n.id = c.note"
        " ORDER BY n.path, c.ordinal LIMIT ?",
        (_as_json(ids), most),
    )
    return [row[0] for row in rows]


def _at(places: dict[int, int], scores: dict[int, float]) -> dict[int, float]:
    """The scores of these chunks, by place."""
    if len(scores) > len(places):
        return {place: scores[id_] for id_, place in places.items() if id_ in scores}
    return {places[id_]: score for id_, score in scores.items() if id_ in places}


def _telling(by_word: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """The words without those that stand nearly everywhere, and so say nothing beside the others."""
    highest = {
        word: max(scores.values(), default=0.0) for word, scores in by_word.items()
    }
    least = max(highest.values(), default=0.0) * LEAST
    return {word: scores for word, scores in by_word.items() if highest[word] >= least}


def fetch(
    connection: Connection, scope_ids: Sequence[int], ids: Sequence[int]
) -> list[Row]:
    """Those of the chunks that are in these scopes."""
    known = kept(connection, scope_ids)
    unread = [id_ for id_ in ids if id_ not in known.by_id]
    if not unread:
        return [known.by_id[id_] for id_ in ids]
    rows: list[Any] = connection.execute(
        f"SELECT {FIELDS} FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value"
        f" WHERE {chunks_in(scope_ids)}",
        (_as_json(unread),),
    ).fetchall()
    held = [known.by_id[id_] for id_ in ids if id_ in known.by_id]
    known.keep_rows(rows)
    return held + rows


def paths(
    connection: Connection, scope_ids: Sequence[int], notes: Collection[int]
) -> dict[int, str]:
    """The paths of these notes, by id."""
    known = kept(connection, scope_ids).paths
    unread = [note for note in notes if note not in known]
    if unread:
        sql = "SELECT n.id, n.path FROM json_each(?) wanted CROSS JOIN note n ON n.id = wanted.value"
        known.update(connection.execute(sql, (_as_json(unread),)))
    return {note: known[note] for note in notes if note in known}


def _as_json(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def within_scopes(connection: Connection, scope_ids: Sequence[int]) -> str:
    """What the full text is asked so that other scopes are left out; empty when there are no chunks in others."""
    if (
        term_volumes.of(connection, scope_ids).chunks
        == term_volumes.of_all(connection).chunks
    ):
        return ""
    return f"scope : ({' OR '.join(f's{scope:d}' for scope in scope_ids)})"


def naming(names: Sequence[str]) -> str:
    """What the full text is asked for chunks that have one of the names."""
    phrases = (
        " + ".join(map(phrase, without_last_letters(words(name)))) or NOTHING
        for name in names
    )
    return f"{TEXT_COLUMNS} : ({' OR '.join(phrases)})"


def _and(expression: str) -> str:
    return f" AND {expression}" if expression else ""


def _rare(
    connection: Connection,
    volume: term_volumes.Volume,
    asked: Sequence[str],
    around: str,
) -> list[str]:
    """The words without the most frequent ones, when all together stand in too many chunks."""
    if (
        len(asked) < 2 or len(asked) * volume.chunks <= 3 * MOST_ROWS
    ):  # not worth counting
        return list(asked)
    counts = {word: _count(connection, word, around) for word in asked}
    room, kept = MOST_ROWS, set[str]()
    for word in sorted(counts, key=lambda word: counts[word]):
        room -= counts[word]
        if kept and room < 0:
            break
        if counts[word]:
            kept.add(word)
    return [word for word in asked if word in kept]


def _count(connection: Connection, word: str, around: str) -> int:
    """In how many chunks a word stands; counting stops at `MOST_ROWS`."""
    row = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?)",
        (f"{TEXT_COLUMNS} : {phrase(word)}{around}", MOST_ROWS),
    ).fetchone()
    return row[0] if row else 0


def has(
    connection: Connection,
    word: str,
    around: str = "",
    without: frozenset[int] = frozenset(),
) -> bool:
    """Whether any chunk has the word; only within what `within_scopes` gave, when that is given."""
    expression = f"{TEXT_COLUMNS} : {phrase(word)}{_and(around)}"
    sql = "SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?"
    rows = connection.execute(sql, (expression, len(without) + 1))
    return any(id_ not in without for (id_,) in rows)


def _scores(
    connection: Connection,
    scope_ids: Sequence[int],
    volume: term_volumes.Volume,
    word: str,
    around: str,
    without: Exclusion,
) -> dict[int, float]:
    """The chunks of these scopes with this word, by id, each with the BM25 score of the word."""
    expression = f"{TEXT_COLUMNS} : {phrase(word)}{around}"
    known = kept(connection, scope_ids)
    question = (expression, without.ids)
    if question not in known.scores:
        _register(connection)
        sql = "SELECT rowid, word_weight(chunk_fts, ?) FROM chunk_fts WHERE chunk_fts MATCH ?"
        weights: list[Any] = connection.execute(
            sql, (volume.average, expression)
        ).fetchall()
        having = (
            sum(id_ not in without.ids for id_, _ in weights)
            if without
            else len(weights)
        )
        rarity = _rarity(volume.chunks, having)
        silent = without.ids - without.repetitions
        scores = {id_: rarity * weight for id_, weight in weights if id_ not in silent}
        known.keep_scores(question, scores)
    return known.scores[question]


def _rarity(chunks: int, having: int) -> float:
    """What a word is worth that so many of the chunks have: in a scope of three chunks, too, more than nothing."""
    others = max(chunks - having, 0)
    return math.log1p((others + 0.5) / (having + 0.5))


_registered: WeakSet[Connection] = WeakSet()


def _register(connection: Connection) -> None:
    """Give the connection the function that reads from FTS5 how often a word stands in a chunk."""
    if connection not in _registered:
        connection.register_fts5_function("word_weight", _word_weight)
        _registered.add(connection)


def _word_weight(chunk: "apsw.FTS5ExtensionApi", *arguments: Any) -> float:
    """The part of BM25 that is of one chunk: how often the word stands in it, against how long it is."""
    (average,) = arguments
    _, heading, who, body = chunk.phrase_locations(0)
    often = HEADING * len(heading) + WHO * len(who) + BODY * len(body)
    length = 1 - LENGTH_PART + LENGTH_PART * chunk.column_size(-1) / average
    weight: float = often * (SATURATION + 1) / (often + SATURATION * length)
    return weight


def _narrowed(
    connection: Connection,
    scope_ids: Sequence[int],
    by_word: dict[str, dict[int, float]],
    filters: Filters,
) -> dict[str, dict[int, float]]:
    """Only the chunks that the filters let through. How rare a word is does not depend on them."""
    if not filters:
        return by_word
    conditions, values = chunk_conditions(filters)
    ids = list(set().union(*by_word.values()))
    rows = connection.execute(
        f"SELECT c.id FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value"
        f" WHERE {chunks_in(scope_ids)}{conditions}",
        (_as_json(ids), *values),
    )
    passed = {row[0] for row in rows}
    return {
        word: {id_: score for id_, score in scores.items() if id_ in passed}
        for word, scores in by_word.items()
    }


def beside(
    connection: Connection,
    scope_ids: Sequence[int],
    places: Sequence[int],
    filters: Filters,
) -> dict[int, Row]:
    """The chunks of these scopes at these places, as far as the filters let them through."""
    known = kept(connection, scope_ids) if not filters else Kept()
    unread = [place for place in places if place not in known.by_place]
    if unread:
        conditions, values = chunk_conditions(filters)
        rows: list[Any] = connection.execute(
            f"SELECT {FIELDS} FROM json_each(?) wanted CROSS JOIN chunk c ON c.note = wanted.value / {ranking.ORDINALS}"
            f" AND c.ordinal = wanted.value % {ranking.ORDINALS} - {ranking.BEFORE_FIRST}"
            f" WHERE {chunks_in(scope_ids)}{conditions}",
            (_as_json(unread), *values),
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
        conditions += (
            " AND c.id IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)"
        )
        values.append(naming(filters.entity_names))
    return conditions, values


def passing(
    connection: Connection, scope_ids: Sequence[int], filters: Filters
) -> set[int]:
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
