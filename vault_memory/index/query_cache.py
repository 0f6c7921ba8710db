"""Caches what searches need of the whole index, until anything in it changes.

That is statistics, and no text: nothing can be shown that was forgotten since.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from vault_memory.database.connection import Connection

if TYPE_CHECKING:
    from vault_memory.index.store import Index

MOST = 64
"""How many values are cached for a connection"""

T = TypeVar("T")

_caches: WeakKeyDictionary[Connection, tuple[int, dict[Hashable, Any]]] = WeakKeyDictionary()
"""For each connection the change counter of the index, and the values that were read since"""


def cached(index: "Index", read: Callable[..., T], *arguments: Hashable) -> T:
    """Return ``read(index, *arguments)``, as it was for the same state of the index."""
    connection, counter = index.connection, index.change_counter
    cache = _caches.get(connection)
    # Fault (G117): any process may have written since.
    if cache is None or cache[0] != counter or len(cache[1]) > MOST:
        cache = _caches[connection] = (counter, {})
    values = cache[1]
    key = (read, *arguments)
    if key not in values:
        values[key] = read(index, *arguments)
    value: T = values[key]
    return value


def forget(connection: Connection) -> None:
    """Drop what is cached for this connection."""
    _caches.pop(connection, None)
