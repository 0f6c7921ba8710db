"""Queries on the facts, the entities and the mentions in the index.

Every query takes the scopes that it may answer from.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from vault_memory.index import fts_search
from vault_memory.index.filters import Filters, chunks_in, marks, notes_with
from vault_memory.rules.facts import entities as facts_persons
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.facts import relevance
from vault_memory.rules.search import tokens

if TYPE_CHECKING:
    from vault_memory.index.fts_search import Row
    from vault_memory.index.store import Index
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.rules.facts.relevance import PromptWords

_TABLES = "fact f JOIN note n ON n.id = f.note JOIN scope s ON s.id = f.scope"

FactInNote = tuple[str, "Fact"]
"""The path of a note, and a fact in it"""


ALIAS = 3
"""`note_properties.Sort.ALIAS`, whose module a question about facts need not load"""


class NoteAlias(NamedTuple):
    """An alias in the front matter of a note."""

    alias: str
    note: str
    kind: str
    scope: str


def has_facts(index: "Index", scope_ids: Sequence[int]) -> bool:
    """Return whether there is a fact in one of these scopes."""
    if not scope_ids:
        return False
    sql = f"SELECT 1 FROM fact WHERE scope IN {marks(scope_ids)} LIMIT 1"
    return index.connection.execute(sql, tuple(scope_ids)).fetchone() is not None


def all_facts(index: "Index", scope_ids: Sequence[int]) -> list[FactInNote]:
    """Return all facts of these scopes, by note and position in it."""
    return _read(index, scope_ids, "", ())


def facts_about(
    index: "Index", scope_ids: Sequence[int], keys: Collection[str]
) -> list[FactInNote]:
    """Return the facts whose subject or object has one of these folded names.

    The facts with the same subject and predicate as one of them follow at the end.
    """
    if not keys:
        return []
    names = marks(tuple(keys))
    condition = f" AND (f.subject_key IN {names} OR f.object_key IN {names})"
    direct = _read(index, scope_ids, condition, (*keys, *keys))
    if not direct:
        return []
    # A fact about an object may have ended because a newer fact gives the same predicate
    # another value, and that fact does not name the object.
    subjects = tuple({facts_fact.folded(fact.subject) for _, fact in direct})
    predicates = tuple({fact.predicate for _, fact in direct})
    related = facts_with(index, scope_ids, subjects, predicates)
    seen = {_identity(match) for match in direct}
    return direct + [match for match in related if _identity(match) not in seen]


def facts_with(
    index: "Index", scope_ids: Sequence[int], subjects: Collection[str], predicates: Collection[str]
) -> list[FactInNote]:
    """Return the facts with one of these folded subjects and one of these predicates."""
    condition = (
        f" AND f.subject_key IN {marks(tuple(subjects))}"
        f" AND f.predicate IN {marks(tuple(predicates))}"
    )
    return _read(index, scope_ids, condition, (*subjects, *predicates))


def _identity(match: FactInNote) -> tuple[str, str, str, bool]:
    path, fact = match
    return path, fact.text, fact.id, fact.struck


def facts_with_id(index: "Index", scope_ids: Sequence[int], prefix: str) -> list[FactInNote]:
    """Return the facts of these scopes whose ids begin with `prefix`."""
    prefix = prefix.strip().casefold()
    # Fault: an empty prefix would fit every fact. Ids have only ASCII letters and
    # digits.
    if not prefix.isascii() or not prefix.isalnum():
        return []
    condition = " AND substr(f.fact, 1, ?) = ?"
    return _read(index, scope_ids, condition, (len(prefix), prefix))


def entities_in(index: "Index", scope_ids: Sequence[int], prompt: "PromptWords") -> set[str]:
    """Return the folded names that a prompt contains as whole words, with their entities.

    The names are the subjects, objects and aliases of these scopes.
    """
    leads = tuple(prompt.leads())
    if not scope_ids or not leads:
        return set()
    rows = index.connection.execute(
        "SELECT DISTINCT e.key, e.entity"
        " FROM json_each(?) w"
        " CROSS JOIN entity_name e ON e.lead = w.value"
        f" WHERE e.scope IN {marks(scope_ids)}",
        (json.dumps(leads), *scope_ids),
    )
    names: set[str] = set()
    for key, entity in rows:
        if prompt.names(key):
            names.update((key, entity))
    for word in prompt.first_names():
        names |= person_called(index, scope_ids, word)
    return names


def person_called(index: "Index", scope_ids: Sequence[int], word: str) -> set[str]:
    """Return the folded name of the only person of these scopes with a first name.

    Empty when there are several, or the word is not written like a name.
    """
    if not facts_persons.may_be_first_name(word):
        return set()
    first = facts_fact.folded(word.removeprefix("@"))
    # All names that begin with the word and a space: "!" is the character after the space.
    bounds = (f"{first} ", f"{first}!")
    parts = [
        f"(f.{column} = ? OR f.{column} >= ? AND f.{column} < ?)"
        for column in ("subject_key", "object_key")
    ]
    condition = f" AND ({' OR '.join(parts)})"
    matches = _read(index, scope_ids, condition, (first, *bounds) * 2)
    name = facts_persons.person_called(first, [fact for _, fact in matches])
    return {name} if name else set()


def persons_among(
    index: "Index", scope_ids: Sequence[int], keys: Collection[str]
) -> frozenset[str]:
    """Return which of these folded names are persons."""
    if not keys:
        return frozenset()
    names = marks(tuple(keys))
    condition = f" AND (f.subject_key IN {names} OR f.object_key IN {names})"
    matches = _read(index, scope_ids, condition, (*keys, *keys))
    return facts_persons.persons(fact for _, fact in matches)


def resolve_entity(index: "Index", scope_ids: Sequence[int], key: str) -> set[str]:
    """Return a folded name, and the folded names of the entities it is an alias of."""
    rows = index.connection.execute(
        "SELECT DISTINCT entity"
        " FROM entity_name"
        " WHERE lead = ?"
        " AND key = ?"
        f" AND scope IN {marks(scope_ids)}",
        (relevance.lead(key), key, *scope_ids),
    )
    return {key, *(row[0] for row in rows)}


def aliases(index: "Index", scope_ids: Sequence[int]) -> list[tuple[str, str]]:
    """Return each alias in these scopes and the entity it refers to; both folded."""
    if not scope_ids:
        return []
    sql = (
        "SELECT DISTINCT key, entity"
        " FROM entity_name"
        " WHERE key <> entity"
        f" AND scope IN {marks(scope_ids)}"
        " ORDER BY entity, key"
    )
    return list(index.connection.execute(sql, tuple(scope_ids)))


def mention_counts(index: "Index", scope_ids: Sequence[int], key: str) -> dict[str, int]:
    """Return how often the notes of these scopes mention a folded name, by type."""
    sql = (
        "SELECT type, sum(count)"
        " FROM mention"
        " WHERE key = ?"
        f" AND scope IN {marks(scope_ids)}"
        " GROUP BY type"
    )
    return dict(index.connection.execute(sql, (key, *scope_ids)))


def mentioned(index: "Index", scope_ids: Sequence[int]) -> list[tuple[str, str, int]]:
    """Return the folded names that the notes of these scopes mention by a sign, with type and count."""
    if not scope_ids:
        return []
    sql = (
        "SELECT key, type, sum(count)"
        " FROM mention"
        f" WHERE scope IN {marks(scope_ids)}"
        " GROUP BY key, type"
        " ORDER BY key, type"
    )
    return list(index.connection.execute(sql, tuple(scope_ids)))


def note_aliases(index: "Index", scope_ids: Sequence[int]) -> list[NoteAlias]:
    """Return the aliases that the front matter of notes gives, as they are written."""
    if not scope_ids:
        return []
    sql = (
        "SELECT p.value, n.path, n.kind, s.name"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        " JOIN scope s ON s.id = n.scope"
        f" WHERE p.sort = {ALIAS} AND p.name = ''"
        f" AND n.scope IN {marks(scope_ids)}"
        " AND n.kind NOT IN ('facts', 'transcript')"
        " ORDER BY n.path, p.rowid"
    )
    return [NoteAlias(*row) for row in index.connection.execute(sql, tuple(scope_ids))]


def count_naming(index: "Index", scope_ids: Sequence[int], names: Sequence[str]) -> int:
    """Return how many chunks of these scopes have one of the names."""
    filters = Filters(entity=names[0], also=tuple(names[1:]))
    filters.prepare(index.connection)
    conditions, values = fts_search.chunk_conditions(filters)
    row = index.connection.execute(
        f"SELECT count(*) FROM chunk c WHERE {chunks_in(scope_ids)}{conditions}", tuple(values)
    ).fetchone()
    return int(row[0]) if row else 0


def naming_both(
    index: "Index", scope_ids: Sequence[int], first: str, second: str
) -> tuple[int, date | None]:
    """Return how many chunks name both entities, and the day of the newest of them."""
    filters = Filters(entity=first)
    filters.prepare(index.connection)
    conditions, values = fts_search.chunk_conditions(filters)
    rows = index.connection.execute(
        "SELECT count(*), max(c.date)"
        " FROM note n"
        " CROSS JOIN chunk c ON c.note = n.id"
        f" WHERE {notes_with(scope_ids)}"
        " AND n.kind <> 'facts'"
        f" AND {chunks_in(scope_ids)}{conditions}"
        " AND names(?, c.heading, c.who, c.text)",
        (*values, tokens.clean(second)),
    )
    count, newest = rows.fetchone() or (0, None)
    return int(count), date.fromisoformat(newest) if newest else None


def line_of(
    index: "Index", scope_ids: Sequence[int], match: FactInNote, filters: Filters
) -> "Row | None":
    """Return the chunk with the line of a fact, if it passes the filters."""
    conditions, values = fts_search.chunk_conditions(filters)
    path, fact = match
    row = index.connection.execute(
        f"SELECT {fts_search.FIELDS}"
        " FROM note n"
        " CROSS JOIN chunk c ON c.note = n.id"
        " WHERE n.path = ? AND instr(c.text, ?)"
        f" AND {chunks_in(scope_ids)}{conditions}"
        " ORDER BY c.ordinal"
        " LIMIT 1",
        (path, fact.text, *values),
    ).fetchone()
    return cast("Row | None", row)


def _read(
    index: "Index", scope_ids: Sequence[int], condition: str, values: Iterable[object]
) -> list[FactInNote]:
    if not scope_ids:
        return []
    stated = ", ".join(f"f.{name}" for name in facts_fact.INDEXED)
    sql = (
        f"SELECT f.fact, s.name, f.text, n.path, {stated}"
        f" FROM {_TABLES}"
        f" WHERE f.scope IN {marks(scope_ids)}{condition}"
        " ORDER BY n.path, f.ordinal"
    )
    rows = index.connection.execute(sql, (*scope_ids, *values))
    return [(row[3], _fact(row)) for row in rows]


def _fact(row: Sequence[Any]) -> "Fact":
    """Return the fact of a row that `_read` selects."""
    id_, scope, text, _, *said = row
    values = dict(zip(facts_fact.INDEXED, said, strict=True), unclear=facts_fact.unclear_mark(text))
    return facts_fact.restated(values, id=id_, scope=scope, text=text)
