"""Erases names from the sync state that neither side has any more, and from the free pages of its file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vault_memory.database.secure_delete import compact
from vault_memory.sync.observe import etag_audit, server_backup
from vault_memory.sync.state_db import FILE, SyncState, open_state

_CACHES = ("hashed", "behind", "rewrites")
"""Tables that only save requests and reads"""
_RECORDS = ("base", "absent", "uploads", "sent")
"""Tables that a pass needs while one side has the file"""


@dataclass(frozen=True, slots=True)
class ErasedNames:
    """The result of erasing names."""

    count: int = 0
    on_server: int = 0
    """names that stay: the server had such a file at the last pass"""
    compacted: bool = True


def erase_names(
    folder: Path, holds: Callable[[str], bool], is_here: Callable[[str], bool]
) -> ErasedNames:
    """Delete the rows of paths that hold a text and lead to no file here or on the server.

    A name that the server still has is needed to delete the file there. Raises DatabaseError, DatabaseDamaged.
    """
    if not (folder / FILE).exists():
        return ErasedNames()
    state = open_state(folder)
    try:
        connection, count = state.connection, 0
        with state.transaction():
            on_server = {path for path in state.entries() if holds(path)}

            def is_erased(path: str) -> bool:
                return holds(path) and not is_here(path)

            for table in (*_CACHES, *_RECORDS):
                rows = connection.execute(f"SELECT DISTINCT path FROM {table}")
                paths = {str(path) for (path,) in rows if is_erased(str(path))}
                if table in _RECORDS:
                    paths -= on_server
                connection.executemany(
                    f"DELETE FROM {table} WHERE path = ?", [(path,) for path in paths]
                )
                count += len(paths)
            count += _erase_meta(state, lambda path: is_erased(path) and path not in on_server)
        return ErasedNames(count, len(on_server), compact(connection))
    finally:
        state.close()


def _erase_meta(state: SyncState, is_erased: Callable[[str], bool]) -> int:
    """Delete values about erased paths, and erased paths within other values. Returns how many."""
    count = 0
    names = [name for (name,) in state.connection.execute("SELECT name FROM info")]
    for name in names:
        # The name of a value about one path is a word and the path.
        path = name.partition(" ")[2]
        if is_erased(path):
            state.delete_meta(name)
            count += 1
    if is_erased(str(state.meta(etag_audit.NEXT) or "")):
        state.delete_meta(etag_audit.NEXT)
        count += 1
    reverted = state.meta(server_backup.FACT)
    if isinstance(reverted, dict) and any(map(is_erased, reverted)):
        remaining = {path: texts for path, texts in reverted.items() if not is_erased(path)}
        state.set_meta(server_backup.FACT, remaining)
        count += len(reverted) - len(remaining)
    return count
