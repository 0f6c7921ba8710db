"""Filters of a search as SQL, so that they apply before the best chunks are chosen."""

from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from vault_memory.database.connection import Connection
from vault_memory.index.properties import property_filters
from vault_memory.rules.search import tokens


class Filters(NamedTuple):
    """The filters of a search. An empty filter passes every chunk."""

    topic: str | None = None
    """Chunks with this topic, and those without any"""
    entity: str | None = None
    """Chunks with its name as whole words in heading, speaker or text"""
    since: date | None = None
    until: date | None = None
    """Both days are included; a chunk without a date does not pass"""
    kinds: frozenset[str] = frozenset()
    """Kinds of notes; empty for all"""
    also: tuple[str, ...] = ()
    """Other names of the entity, which count as much"""
    tags: tuple[str, ...] = ()
    """Each of these tags; `a` is also the tag of what is tagged `a/b`"""
    where: tuple[str, ...] = ()
    """Each of these fields: `key=value`, or `key` with any value"""
    paths: tuple[str, ...] = ()
    """Notes whose path one of these globs matches"""

    def __bool__(self) -> bool:
        return self != Filters()

    @property
    def has_names(self) -> bool:
        """Whether a filter has a name, which may be misspelt. Kinds are checked by callers."""
        return self._replace(since=None, until=None, kinds=frozenset()) != Filters()

    def conditions(self) -> tuple[str, list[object]]:
        """Return conditions on a chunk ``c``, each with AND before it, and their values."""
        conditions = ""
        values: list[object] = []
        # Fault: SQLite refuses lone surrogates, so each text of a caller is cleaned.
        if self.topic is not None:
            conditions += " AND (c.topic = '' OR c.topic = ? COLLATE NOCASE)"
            values.append(tokens.clean(self.topic))
        if self.since is not None:
            conditions += " AND c.date >= ?"
            values.append(self.since.isoformat())
        if self.until is not None:
            conditions += " AND c.date <= ?"
            values.append(self.until.isoformat())
        if self.kinds:
            notes = f"SELECT id FROM note WHERE kind IN {marks(self.kinds)}"
            conditions += f" AND c.note IN ({notes})"
            values += sorted(map(tokens.clean, self.kinds))
        if self.tags or self.where or self.paths:
            of_properties, more = property_filters.conditions(self.tags, self.where, self.paths)
            conditions += of_properties
            values += more
        names = self.entity_names
        if names:
            contains = ["names(?, c.heading, c.who, c.text)"] * len(names)
            conditions += f" AND ({' OR '.join(contains)})"
            values += names
        return conditions, values

    @property
    def entity_names(self) -> list[str]:
        """All names of the entity."""
        if self.entity is None:
            return []
        return [tokens.clean(name) for name in (self.entity, *self.also)]

    def prepare(self, connection: Connection) -> None:
        """Give the connection the function that `conditions` uses.

        The full text has only stems: there `Wills` would be `will`.
        """
        if self.entity is not None:
            connection.create_scalar_function("names", _names, 4, deterministic=True)
        if self.tags or self.paths:
            property_filters.prepare(connection, self.paths)


def _names(*values: Any) -> bool:
    return tokens.names(*values)


def chunks_in(scope_ids: Iterable[int]) -> str:
    """Return a condition: one of these scopes is the first or second scope of the chunk ``c``."""
    among = listed(scope_ids)
    return f"(c.scope IN {among} OR c.also IN {among})"


def notes_with(scope_ids: Iterable[int]) -> str:
    """Return a condition: the note ``n`` or one of its chunks is in one of these scopes."""
    among = listed(scope_ids)
    with_chunks = f"SELECT note FROM chunk WHERE also IN {among}"
    return f"(n.scope IN {among} OR n.id IN ({with_chunks}))"


def listed(numbers: Iterable[int]) -> str:
    """Return numbers as a list for ``IN``."""
    return _listed(tuple(numbers))


# Each statement of a search has the same list, of perhaps a thousand scopes.
@lru_cache(maxsize=64)
def _listed(numbers: tuple[int, ...]) -> str:
    # Fault (H124): this format raises for anything but a number, so no text can get into
    # the statement.
    return f"({','.join(map('{:d}'.format, numbers))})"


def marks(values: Sequence[object] | frozenset[str]) -> str:
    """Return as many question marks as there are values, for ``IN``."""
    question_marks = ",".join("?" * len(values))
    return f"({question_marks})"
