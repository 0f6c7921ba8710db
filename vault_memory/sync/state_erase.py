"""Taking names out of the sync state that neither side has any more, and out of the free pages of its file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vault_memory.database.secure_delete import compact
from vault_memory.sync.observe import etag_audit, server_backup
from vault_memory.sync.state_db import FILE, SyncState, open_state

_CACHES = ("hashed", "behind", "rewrites")
"""Tables that only save work: a row that is missing costs one more look"""
_AGREED = ("base", "absent", "uploads")
"""Tables that a pass needs for as long as one side has the file"""


@dataclass(frozen=True, slots=True)
class ErasedNames:
    """What was taken out of the sync state."""

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
            distant = {path for path in state.entries() if holds(path)}
            for table in (*_CACHES, *_AGREED):
                rows = connection.execute(
                    f"SELECT DISTINCT path FROM {table}"
                ).fetchall()
                for path in (str(path) for (path,) in rows if holds(str(path))):
                    if is_here(path) or (table in _AGREED and path in distant):
                        continue
                    connection.execute(f"DELETE FROM {table} WHERE path = ?", (path,))
                    count += 1
            count += _erase_facts(
                state,
                lambda path: holds(path) and not is_here(path) and path not in distant,
            )
        return ErasedNames(count, len(distant), compact(connection))
    finally:
        state.close()


def _erase_facts(state: SyncState, is_erased: Callable[[str], bool]) -> int:
    """Delete the facts about single paths, and the paths within facts about several; how many were deleted."""
    count = 0
    for name in [name for (name,) in state.connection.execute("SELECT name FROM info")]:
        if is_erased(
            name.partition(" ")[2]
        ):  # facts about one path are called by a word and the path
            state.delete_meta(name)
            count += 1
    if is_erased(str(state.meta(etag_audit.NEXT) or "")):
        state.delete_meta(etag_audit.NEXT)
        count += 1
    gone_back = state.meta(server_backup.FACT)
    if isinstance(gone_back, dict) and any(map(is_erased, gone_back)):
        left = {path: texts for path, texts in gone_back.items() if not is_erased(path)}
        state.set_meta(server_backup.FACT, left)
        count += len(gone_back) - len(left)
    return count
