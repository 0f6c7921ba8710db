"""Rows of facts and of the names of entities, written from the pages of facts.

The rows follow from the files, like everything in the index. Every row has its scope.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.database.connection import Connection
from vault_memory.index.chunk_rows import span_of
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.facts import relevance

if TYPE_CHECKING:
    from vault_memory.rules.facts.fact import Fact

LONGEST_NAME = 200
"""Letters; a longer object is a sentence, and not a name that a prompt could contain"""
GAP = 1 << 20
"""Distance between the ordinals of two facts of a note, so that new facts fit between them"""
MAX_ORDINAL = 1 << 62

_PREDICATE, _SUBJECT_KEY, _OBJECT_KEY = 3, -2, -1
"""Positions in a `Row`"""

Row = tuple[Any, ...]
"""The values of `_columns`"""
EntityName = tuple[str, str]
"""A folded name, and the folded name of the entity it refers to"""


def replace(connection: Connection, note: int, scope: int, facts: "Sequence[Fact]") -> None:
    """Replace the facts of a note. Rows that do not change are not written."""
    aliases = facts_fact.canonical(facts)
    rows = {(index * GAP, *_values(fact)) for index, fact in enumerate(facts)}
    _replace_facts(connection, note, scope, rows)
    _replace_names(connection, note, scope, {*aliases.items(), *_names(rows, aliases)})


def change(
    connection: Connection, note: int, scope: int, old: "Sequence[Fact]", new: "Sequence[Fact]"
) -> None:
    """Replace the facts `old` of a note by `new`, and write only the stretch that differs."""
    span = span_of(old, new)
    removed = old[span.first : span.last]
    added = new[span.first : span.until]
    # Fault: an alias changes the entity of names that facts elsewhere in the note use.
    # An index that was updated step by step would differ from a new one.
    if any(fact.predicate == facts_fact.ALIAS for fact in (*removed, *added)):
        replace(connection, note, scope, new)
        return
    above = _ordinal(connection, note, span.first - 1) if span.first else -GAP
    below = MAX_ORDINAL
    if span.last < len(old):
        below = _ordinal(connection, note, span.last)
    step = min((below - above) // (len(added) + 1), GAP)
    if step < 1:
        # Many insertions at one position have used up the gap between two ordinals.
        replace(connection, note, scope, new)
        return
    rows = [(above + step * position, *_values(fact)) for position, fact in enumerate(added, 1)]
    connection.execute(
        "DELETE FROM fact WHERE note = ? AND ordinal > ? AND ordinal < ?", (note, above, below)
    )
    _insert_facts(connection, note, scope, rows)
    aliases = facts_fact.canonical(new)
    old_names = _names([(0, *_values(fact)) for fact in removed], aliases)
    _change_names(connection, note, scope, old_names, _names(rows, aliases), aliases)


def remove(connection: Connection, note: int) -> None:
    """Delete the facts, the names and the mentions of a note."""
    for table in ("fact", "entity_name", "mention"):
        connection.execute(f"DELETE FROM {table} WHERE note = ?", (note,))


# --- Facts ---


def _ordinal(connection: Connection, note: int, position: int) -> int:
    """Return the ordinal of the fact at a position among those of a note."""
    sql = "SELECT ordinal FROM fact WHERE note = ? ORDER BY ordinal LIMIT 1 OFFSET ?"
    return int(connection.execute(sql, (note, position)).fetchone()[0])  # type: ignore[index]


def _replace_facts(connection: Connection, note: int, scope: int, rows: set[Row]) -> None:
    ids = {
        row[1:]: row[0]
        for row in connection.execute(f"SELECT id, {_columns()} FROM fact WHERE note = ?", (note,))
    }
    stale = [(id_,) for row, id_ in ids.items() if row not in rows]
    connection.executemany("DELETE FROM fact WHERE id = ?", stale)
    _insert_facts(connection, note, scope, sorted(rows - ids.keys(), key=_row_ordinal))


def _row_ordinal(row: Row) -> int:
    return int(row[0])


def _insert_facts(connection: Connection, note: int, scope: int, rows: Sequence[Row]) -> None:
    columns = f"note, scope, {_columns()}"
    placeholders = ",".join("?" * len(columns.split(",")))
    sql = f"INSERT INTO fact({columns}) VALUES ({placeholders})"
    connection.executemany(sql, [(note, scope, *row) for row in rows])


def _columns() -> str:
    """Return the columns of a fact, from its ordinal on."""
    names = ("ordinal", "fact", *facts_fact.INDEXED, "text", "subject_key", "object_key")
    return ", ".join(names)


def _values(fact: "Fact") -> Row:
    """Return the columns of a fact after its ordinal."""
    stated = facts_fact.stated(fact)
    keys = (facts_fact.folded(fact.subject), facts_fact.folded(fact.object))
    return (fact.id, *(stated[name] for name in facts_fact.INDEXED), fact.text, *keys)


# --- Names of entities ---


def _names(rows: Iterable[Row], aliases: Mapping[str, str]) -> set[EntityName]:
    """Return the subjects and objects of rows with their entities, without the aliases."""
    names = set[str]()
    for row in rows:
        names.add(row[_SUBJECT_KEY])
        object_key = row[_OBJECT_KEY]
        if row[_PREDICATE] != facts_fact.ALIAS and len(object_key) <= LONGEST_NAME:
            names.add(object_key)
    return {(name, aliases.get(name, name)) for name in names}


def _replace_names(connection: Connection, note: int, scope: int, names: set[EntityName]) -> None:
    sql = "SELECT key, entity FROM entity_name WHERE note = ?"
    previous = set(connection.execute(sql, (note,)))
    connection.executemany(
        "DELETE FROM entity_name WHERE note = ? AND key = ? AND entity = ?",
        [(note, *name) for name in previous - names],
    )
    _insert_names(connection, note, scope, names - previous)


def _change_names(
    connection: Connection,
    note: int,
    scope: int,
    old: set[EntityName],
    new: set[EntityName],
    aliases: Mapping[str, str],
) -> None:
    """Delete the names that no fact uses any more, and insert those that are not indexed."""
    unused = {key for key, _ in old - new if key not in aliases}
    _delete_unused_names(connection, note, scope, unused)
    sql = "SELECT 1 FROM entity_name WHERE note = ? AND key = ? AND entity = ?"
    missing = [name for name in new if not connection.execute(sql, (note, *name)).fetchone()]
    _insert_names(connection, note, scope, missing)


def _insert_names(
    connection: Connection, note: int, scope: int, names: Iterable[EntityName]
) -> None:
    rows = [(note, scope, relevance.lead(key), key, entity) for key, entity in sorted(names)]
    connection.executemany("INSERT INTO entity_name VALUES (?,?,?,?,?)", rows)


def _delete_unused_names(
    connection: Connection, note: int, scope: int, keys: Iterable[str]
) -> None:
    for key in keys:
        if not _is_used(connection, note, scope, key):
            connection.execute("DELETE FROM entity_name WHERE note = ? AND key = ?", (note, key))


def _is_used(connection: Connection, note: int, scope: int, key: str) -> bool:
    """Return whether a fact of the note has the name as its subject or its object."""
    of_note = "SELECT 1 FROM fact WHERE scope = ? AND note = ?"
    as_subject = connection.execute(f"{of_note} AND subject_key = ?", (scope, note, key)).fetchone()
    if as_subject:
        return True
    as_object = connection.execute(
        f"{of_note} AND object_key = ? AND predicate <> ? AND length(object_key) <= ?",
        (scope, note, key, facts_fact.ALIAS, LONGEST_NAME),
    ).fetchone()
    return as_object is not None
