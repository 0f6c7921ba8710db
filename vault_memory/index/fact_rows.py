"""What the pages of facts say, and whom notes mention: rows that follow from the files, like everything in the index.

Every row has its scope, and every question names the scopes it may be answered from.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from vault_memory.database.connection import Connection
from vault_memory.index.delta_cache import span_of
from vault_memory.index.filters import marks
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.markdown.chunking.chunk_text import Chunk
    from vault_memory.rules.facts import entities, relevance
    from vault_memory.rules.facts import fact as facts_fact
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.rules.facts.relevance import Prompt
else:
    entities = lazy_module("vault_memory.rules.facts.entities")
    facts_fact = lazy_module("vault_memory.rules.facts.fact")
    relevance = lazy_module("vault_memory.rules.facts.relevance")

LONGEST_NAME = 200
"""Letters: a longer object is a sentence, and no name that a prompt would hold"""
GAP = 1 << 20
"""Between the ordinals of two facts of a note, so that others find place between them"""
LAST = 1 << 62
DATES = "event"
"""Patterns of this type are days, which are nobody"""

TABLES = """
    CREATE TABLE fact(
        id INTEGER PRIMARY KEY,
        note INTEGER NOT NULL REFERENCES note,
        scope INTEGER NOT NULL REFERENCES scope,
        ordinal INTEGER NOT NULL,   -- the order in the note, with gaps
        fact TEXT NOT NULL,         -- the id that a person gives
        subject TEXT NOT NULL,
        predicate TEXT NOT NULL,
        object TEXT NOT NULL,
        valid_from TEXT,
        valid_until TEXT,
        temporary INTEGER NOT NULL,
        confidence REAL NOT NULL,
        ref TEXT NOT NULL,
        origin TEXT NOT NULL,
        struck INTEGER NOT NULL,
        supersedes TEXT NOT NULL,
        confirmed INTEGER NOT NULL,
        topic TEXT NOT NULL,
        text TEXT NOT NULL,
        subject_key TEXT NOT NULL,  -- folded, as names are compared
        object_key TEXT NOT NULL
    );
    CREATE INDEX fact_of_note ON fact(note, ordinal);
    CREATE INDEX fact_of_scope ON fact(scope);
    CREATE INDEX fact_subject ON fact(subject_key, scope);
    CREATE INDEX fact_object ON fact(object_key, scope);
    CREATE TABLE entity_name(
        note INTEGER NOT NULL REFERENCES note,
        scope INTEGER NOT NULL REFERENCES scope,
        lead TEXT NOT NULL,         -- its first words: by those a prompt finds it
        key TEXT NOT NULL,          -- the name, folded
        entity TEXT NOT NULL        -- the folded name of whom it means
    );
    CREATE INDEX entity_name_of_note ON entity_name(note, key);
    CREATE INDEX entity_name_lead ON entity_name(lead, scope);
    CREATE INDEX entity_alias ON entity_name(scope) WHERE key <> entity;
    CREATE TABLE mention(
        note INTEGER NOT NULL REFERENCES note,
        scope INTEGER NOT NULL REFERENCES scope,
        key TEXT NOT NULL,
        type TEXT NOT NULL,
        count INTEGER NOT NULL
    );
    CREATE INDEX mention_of_note ON mention(note);
    CREATE INDEX mention_key ON mention(key, scope);
    DELETE FROM meta WHERE key = 'rules';  -- what was indexed before has no such rows: it is built anew
"""
_COLUMNS = (
    "f.fact, f.subject, f.predicate, f.object, f.valid_from, f.valid_until, f.temporary, f.confidence, f.ref, f.origin,"
    " f.struck, f.supersedes, f.confirmed, f.topic, s.name, f.text, n.path"
)
_WRITTEN = (
    "ordinal, fact, subject, predicate, object, valid_from, valid_until, temporary, confidence, ref, origin, struck,"
    " supersedes, confirmed, topic, text, subject_key, object_key"
)
_FROM = "FROM fact f JOIN note n ON n.id = f.note JOIN scope s ON s.id = f.scope"

Found = tuple[str, "Fact"]
"""The note that a fact stands in, and the fact"""


# ---- what is written ------------------------------------------------------------------------------------------------


def replace(
    connection: Connection, note: int, scope: int, facts: "Sequence[Fact]"
) -> None:
    """Make the facts of a note be these. Rows that stay as they are are left alone."""
    aliases = facts_fact.canonical(facts)
    rows = {(place * GAP, *_values(fact)) for place, fact in enumerate(facts)}
    _replace_facts(connection, note, scope, rows)
    _replace_names(connection, note, scope, {*aliases.items(), *_names(rows, aliases)})


def change(
    connection: Connection,
    note: int,
    scope: int,
    old: "Sequence[Fact]",
    new: "Sequence[Fact]",
) -> None:
    """Make the facts of a note, which are `old`, be `new`: only where they differ is anything written."""
    span = span_of(old, new)
    gone, fresh = old[span.first : span.last], new[span.first : span.until]
    if any(fact.predicate == facts_fact.ALIAS for fact in (*gone, *fresh)):
        replace(connection, note, scope, new)
        return
    above = _ordinal(connection, note, span.first - 1) if span.first else -GAP
    below = _ordinal(connection, note, span.last) if span.last < len(old) else LAST
    step = min((below - above) // (len(fresh) + 1), GAP)
    if step < 1:
        replace(connection, note, scope, new)
        return
    rows = [
        (above + step * place, *_values(fact)) for place, fact in enumerate(fresh, 1)
    ]
    connection.execute(
        "DELETE FROM fact WHERE note = ? AND ordinal > ? AND ordinal < ?",
        (note, above, below),
    )
    _insert(connection, note, scope, rows)
    aliases = facts_fact.canonical(new)
    before, after = (
        _names([(0, *_values(fact)) for fact in gone], aliases),
        _names(rows, aliases),
    )
    _forget_names(
        connection,
        note,
        scope,
        {name for name in before - after if name[0] not in aliases},
    )
    there = "SELECT 1 FROM entity_name WHERE note = ? AND key = ? AND entity = ?"
    _insert_names(
        connection,
        note,
        scope,
        [n for n in after if not connection.execute(there, (note, *n)).fetchone()],
    )


def _ordinal(connection: Connection, note: int, place: int) -> int:
    """Of the fact at a place among those of a note."""
    sql = "SELECT ordinal FROM fact WHERE note = ? ORDER BY ordinal LIMIT 1 OFFSET ?"
    return int(connection.execute(sql, (note, place)).fetchone()[0])  # type: ignore[index]


def _names(
    rows: Iterable[tuple[Any, ...]], aliases: Mapping[str, str]
) -> set[tuple[str, str]]:
    """Whom these rows of facts name, each with whom that means; what is only an alias is not among them."""
    named = {row[-2] for row in rows}
    named |= {
        row[-1]
        for row in rows
        if row[3] != facts_fact.ALIAS and len(row[-1]) <= LONGEST_NAME
    }
    return {(name, aliases.get(name, name)) for name in named}


def _replace_facts(
    connection: Connection, note: int, scope: int, rows: set[tuple[Any, ...]]
) -> None:
    there = {
        row[1:]: row[0]
        for row in connection.execute(
            f"SELECT id, {_WRITTEN} FROM fact WHERE note = ?", (note,)
        )
    }
    gone = [(id_,) for row, id_ in there.items() if row not in rows]
    connection.executemany("DELETE FROM fact WHERE id = ?", gone)
    _insert(
        connection,
        note,
        scope,
        sorted((row for row in rows if row not in there), key=lambda row: int(row[0])),
    )


def _insert(
    connection: Connection, note: int, scope: int, rows: Sequence[tuple[Any, ...]]
) -> None:
    marked = ",".join("?" * (len(_WRITTEN.split(",")) + 2))
    sql = f"INSERT INTO fact(note, scope, {_WRITTEN}) VALUES ({marked})"
    connection.executemany(sql, [(note, scope, *row) for row in rows])


def _replace_names(
    connection: Connection, note: int, scope: int, names: set[tuple[str, str]]
) -> None:
    there = set(
        connection.execute(
            "SELECT key, entity FROM entity_name WHERE note = ?", (note,)
        )
    )
    connection.executemany(
        "DELETE FROM entity_name WHERE note = ? AND key = ? AND entity = ?",
        [(note, *one) for one in there - names],
    )
    _insert_names(connection, note, scope, names - there)


def _insert_names(
    connection: Connection, note: int, scope: int, names: Iterable[tuple[str, str]]
) -> None:
    fresh = [
        (note, scope, relevance.lead(key), key, entity) for key, entity in sorted(names)
    ]
    connection.executemany("INSERT INTO entity_name VALUES (?,?,?,?,?)", fresh)


def _forget_names(
    connection: Connection, note: int, scope: int, names: Iterable[tuple[str, str]]
) -> None:
    """Those that no fact of the note names any more."""
    for key, _ in names:
        among = (
            ("subject_key = ?", (key,)),
            (
                "object_key = ? AND predicate <> ? AND length(object_key) <= ?",
                (key, facts_fact.ALIAS, LONGEST_NAME),
            ),
        )
        sql = "SELECT 1 FROM fact WHERE scope = ? AND note = ? AND {}"
        if not any(
            connection.execute(sql.format(which), (scope, note, *values)).fetchone()
            for which, values in among
        ):
            connection.execute(
                "DELETE FROM entity_name WHERE note = ? AND key = ?", (note, key)
            )


def _values(fact: "Fact") -> tuple[Any, ...]:
    """The columns of a fact after its ordinal."""
    return (
        fact.id,
        fact.subject,
        fact.predicate,
        fact.object,
        fact.valid_from and fact.valid_from.isoformat(),
        fact.valid_until and fact.valid_until.isoformat(),
        fact.temporary,
        fact.confidence,
        fact.ref,
        fact.origin,
        fact.struck,
        fact.supersedes,
        fact.confirmed,
        fact.topic,
        fact.text,
        facts_fact.folded(fact.subject),
        facts_fact.folded(fact.object),
    )


def add_mentions(
    connection: Connection,
    note: int,
    scope: int,
    chunks: "Iterable[Chunk]",
    also: Sequence[int | None] = (),
) -> None:
    """Count whom these chunks of a note mention."""
    _count(connection, note, _mentioned(scope, chunks, also))


def change_mentions(
    connection: Connection,
    note: int,
    scope: int,
    gone: "Iterable[Chunk]",
    fresh: "Iterable[Chunk]",
) -> None:
    """Count no longer whom some chunks of a note mentioned, but whom others do."""
    counts = _mentioned(scope, fresh)
    counts.subtract(_mentioned(scope, gone))
    if counts:
        _count(connection, note, counts)
        connection.execute("DELETE FROM mention WHERE note = ? AND count <= 0", (note,))


def _mentioned(
    scope: int, chunks: "Iterable[Chunk]", also: Sequence[int | None] = ()
) -> Counter[tuple[int, str, str]]:
    """Whom chunks mention, by scope, folded name and type."""
    counts: Counter[tuple[int, str, str]] = Counter()
    for at, chunk in enumerate(chunks):
        if "@" not in chunk.text and "#" not in chunk.text and "://" not in chunk.text:
            continue
        other = also[at] if also else None
        for one in entities.extract(chunk.text):
            if one.type != DATES:
                counts.update(
                    (where, facts_fact.folded(one.name), one.type)
                    for where in {scope, other}
                    if where is not None
                )
    return counts


def _count(
    connection: Connection, note: int, counts: Mapping[tuple[int, str, str], int]
) -> None:
    for (where, key, type_), count in counts.items():
        row = (note, where, key, type_)
        same = "note = ? AND scope = ? AND key = ? AND type = ?"
        connection.execute(
            f"UPDATE mention SET count = count + ? WHERE {same}", (count, *row)
        )
        if not connection.changes():
            connection.execute("INSERT INTO mention VALUES (?,?,?,?,?)", (*row, count))


def remove_mentions(connection: Connection, note: int) -> None:
    """Nobody is mentioned in this note, before its chunks are counted again."""
    connection.execute("DELETE FROM mention WHERE note = ?", (note,))


def remove(connection: Connection, note: int) -> None:
    """Nothing is said and nobody mentioned in this note any more."""
    for table in ("fact", "entity_name", "mention"):
        connection.execute(f"DELETE FROM {table} WHERE note = ?", (note,))


# ---- what is asked --------------------------------------------------------------------------------------------------


def any_of(connection: Connection, scope_ids: Sequence[int]) -> bool:
    """Whether there is a fact in one of these scopes."""
    sql = f"SELECT 1 FROM fact WHERE scope IN {marks(scope_ids)} LIMIT 1"
    return (
        bool(scope_ids)
        and connection.execute(sql, tuple(scope_ids)).fetchone() is not None
    )


def every(connection: Connection, scope_ids: Sequence[int]) -> list[Found]:
    """All facts of these scopes, by note and place in it."""
    return _read(connection, scope_ids, "", ())


def facts_about(
    connection: Connection, scope_ids: Sequence[int], keys: Collection[str]
) -> list[Found]:
    """The facts of which one of these folded names is the subject or the object, and those that stand beside them."""
    if not keys:
        return []
    among = marks(tuple(keys))
    near = f"(f.subject_key IN {among} OR f.object_key IN {among})"
    found = _read(connection, scope_ids, f" AND {near}", (*keys, *keys))
    others = tuple({(fact.subject, fact.predicate) for _, fact in found})
    if not others:
        return []
    # What a fact about its object says may have ended by another value of the same predicate.
    subjects = tuple({_key(subject) for subject, _ in others})
    wanted = f" AND f.subject_key IN {marks(subjects)} AND f.predicate IN {marks(tuple({one[1] for one in others}))}"
    beside = _read(
        connection, scope_ids, wanted, (*subjects, *{one[1] for one in others})
    )
    known = {(path, fact.text, fact.id, fact.struck) for path, fact in found}
    return found + [
        one
        for one in beside
        if (one[0], one[1].text, one[1].id, one[1].struck) not in known
    ]


def with_id(
    connection: Connection, scope_ids: Sequence[int], beginning: str
) -> list[Found]:
    """The facts of these scopes whose ids begin so."""
    like = beginning.strip().casefold()
    if not like or not like.isascii() or not like.isalnum():
        return []
    return _read(
        connection, scope_ids, " AND substr(f.fact, 1, ?) = ?", (len(like), like)
    )


def named(
    connection: Connection, scope_ids: Sequence[int], prompt: "Prompt"
) -> set[str]:
    """Whom a prompt names, by folded name: subjects, objects and aliases of these scopes, as whole words."""
    leads = tuple(prompt.leads())
    if not scope_ids or not leads:
        return set()
    rows = connection.execute(
        f"SELECT DISTINCT e.key, e.entity FROM json_each(?) w CROSS JOIN entity_name e ON e.lead = w.value"
        f" WHERE e.scope IN {marks(scope_ids)}",
        (_as_json(leads), *scope_ids),
    )
    return {one for key, entity in rows if prompt.names(key) for one in (key, entity)}


def resolve_entity(
    connection: Connection, scope_ids: Sequence[int], key: str
) -> set[str]:
    """The folded names of whom a folded name means: itself, and what it is an alias of."""
    rows = connection.execute(
        f"SELECT DISTINCT entity FROM entity_name WHERE lead = ? AND key = ? AND scope IN {marks(scope_ids)}",
        (relevance.lead(key), key, *scope_ids),
    )
    return {key, *(row[0] for row in rows)}


def aliases(connection: Connection, scope_ids: Sequence[int]) -> list[tuple[str, str]]:
    """Each other name that somebody has in these scopes, and whom it means; both folded."""
    if not scope_ids:
        return []
    sql = f"SELECT DISTINCT key, entity FROM entity_name WHERE key <> entity AND scope IN {marks(scope_ids)}"
    return list(connection.execute(f"{sql} ORDER BY entity, key", tuple(scope_ids)))


def mentioned(
    connection: Connection, scope_ids: Sequence[int], key: str
) -> dict[str, int]:
    """As what a name is mentioned in the notes of these scopes, and how often."""
    rows = connection.execute(
        f"SELECT type, sum(count) FROM mention WHERE key = ? AND scope IN {marks(scope_ids)} GROUP BY type",
        (key, *scope_ids),
    )
    return dict(rows)


def _read(
    connection: Connection,
    scope_ids: Sequence[int],
    where: str,
    values: Iterable[object],
) -> list[Found]:
    if not scope_ids:
        return []
    sql = f"SELECT {_COLUMNS} {_FROM} WHERE f.scope IN {marks(scope_ids)}{where} ORDER BY n.path, f.ordinal"
    return [_found(row) for row in connection.execute(sql, (*scope_ids, *values))]


def _found(row: Sequence[Any]) -> Found:
    (
        id_,
        subject,
        predicate,
        said,
        since,
        until,
        temporary,
        confidence,
        ref,
        origin,
        struck,
        *rest,
    ) = row
    supersedes, confirmed, topic, scope, text, path = rest
    first, last = (
        date.fromisoformat(edge) if edge else None for edge in (since, until)
    )
    fact = facts_fact.Fact(
        id_,
        subject,
        predicate,
        said,
        first,
        last,
        bool(temporary),
        confidence,
        ref,
        origin,
        bool(struck),
        supersedes,
        bool(confirmed),
        topic,
        scope,
        text,
    )
    return path, fact


def _key(name: str) -> str:
    return facts_fact.folded(name)


def _as_json(texts: Sequence[str]) -> str:
    import json

    return json.dumps(texts)
