"""What a search leaves out, as SQL: so that it is left out before the best are taken, and not after."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, NamedTuple

from vault_memory.database.connection import Connection
from vault_memory.rules.search import tokens


class Filters(NamedTuple):
    """What a search is narrowed to. Nothing given lets everything through."""

    topic: str | None = None
    """chunks with this topic, and those without any"""
    entity: str | None = None
    """chunks that name it, as whole words, in heading, speaker or text"""
    since: date | None = None
    until: date | None = None
    """both days included; a chunk without a date is left out"""
    kinds: frozenset[str] = frozenset()
    """kinds of notes; empty: all"""
    also: tuple[str, ...] = ()
    """other names that the entity has: they count as much"""

    def __bool__(self) -> bool:
        return self != Filters()

    def where(self) -> tuple[str, list[object]]:
        """Conditions on a chunk ``c``, each begun with AND, and their values; for the entity, see `text`."""
        conditions, values = "", list[object]()
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
            conditions += f" AND c.note IN (SELECT id FROM note WHERE kind IN {marks(self.kinds)})"
            values += sorted(map(tokens.clean, self.kinds))
        if self.entity is not None:
            asked = " OR ".join(
                ["names(?, c.heading, c.who, c.text)"] * len(self.entity_names)
            )
            conditions += f" AND ({asked})"
            values += self.entity_names
        return conditions, values

    @property
    def entity_names(self) -> list[str]:
        """All names of the entity that is asked for."""
        return (
            []
            if self.entity is None
            else [tokens.clean(name) for name in (self.entity, *self.also)]
        )

    def prepare(self, connection: Connection) -> None:
        """Give the connection what `where` asks of it. The full text only knows stems: `Wills` would be `will`."""
        if self.entity is not None:
            connection.create_scalar_function("names", _names, 4, deterministic=True)


def _names(*values: Any) -> bool:
    return tokens.names(*values)


def chunks_in(scope_ids: Iterable[int]) -> str:
    """A condition: the chunk ``c`` is in one of these scopes, or also in one."""
    among = listed(scope_ids)
    return f"(c.scope IN {among} OR c.also IN {among})"


def notes_with(scope_ids: Iterable[int]) -> str:
    """A condition: the note ``n`` is of one of these scopes, or has chunks that are also in one."""
    among = listed(scope_ids)
    return f"(n.scope IN {among} OR n.id IN (SELECT note FROM chunk WHERE also IN {among}))"


def listed(numbers: Iterable[int]) -> str:
    """Numbers as SQL has them after ``IN``."""
    return f"({','.join(f'{number:d}' for number in numbers)})"


def marks(values: Sequence[object] | frozenset[str]) -> str:
    """As many question marks as there are values, for ``IN``."""
    return f"({','.join('?' * len(values))})"
