"""The vault as it is now: every regular file with its hash, read again only when the system says that it changed."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import BaseFile, Dir, File, Link, Node, Unknown
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder, Note

QUIET_SECONDS = 0.5
"""For which a file must have been left alone before it travels"""
HOLD_SECONDS = 3.0
"""The same for a file that is empty now"""
YOUNG_SECONDS = 3.0
"""A file that changed so lately may change again within one tick of the disk's clock: its hash is not kept"""


@dataclass(frozen=True, slots=True)
class LocalScan:
    """One look at the vault."""

    nodes: dict[str, Node]
    hot: dict[str, str]
    """paths that are being saved just now, and why they wait"""


class LocalScanner:
    """One vault's folder, for looking."""

    def __init__(self, folder: Folder, state: SyncState, *, largest: int) -> None:
        self._folder, self._state, self._largest = folder, state, largest

    def look(self, now: float) -> LocalScan:
        """All that lies in the vault. Raises VaultUnreachable."""
        listing = self._folder.listing(suffixes=("",))
        nodes: dict[str, Node] = {path: Dir() for path in listing.folders if path}
        nodes |= {path: Link() for path in listing.links}
        nodes |= {path: Unknown(reason) for path, reason in listing.unknown.items()}
        known = self._state.hashes()
        fresh: list[tuple[str, int, int, int, int, str]] = []
        hot: dict[str, str] = {}
        with self._folder.held():
            for path in (*listing.entries, *listing.copies):
                node = self._file(path, listing.entries.get(path), known, fresh, now)
                if node is not None:
                    nodes[path] = node
                    if isinstance(node, Unknown) and node.reason == BEING_SAVED:
                        hot[path] = node.reason
        with self._state.transaction():
            self._state.store_hashes(fresh)
        return LocalScan(nodes, hot)

    def _file(
        self,
        path: str,
        seen: Stat | None,
        known: Mapping[str, tuple[int, int, int, int, str]],
        fresh: list[tuple[str, int, int, int, int, str]],
        now: float,
    ) -> Node | None:
        last = known.get(path)
        if (
            seen is not None
            and last
            and last[:4] == (seen.size, seen.mtime_ns, seen.ctime_ns, seen.ino)
        ):
            return File(last[4], "", str(seen.ino), seen.size)
        if seen is not None and seen.size > self._largest:
            return File(None, "", str(seen.ino), seen.size)
        note = self.read(path)
        if note is None or isinstance(note, Unknown):
            return note
        age = now - note.stat.ctime_ns / 1e9
        is_young = 0 <= age < (QUIET_SECONDS if note.raw else HOLD_SECONDS)
        if not note.stable or (is_young and not self._is_agreed(path, note)):
            return Unknown(BEING_SAVED)
        if not 0 <= age < YOUNG_SECONDS:
            stat = note.stat
            fresh.append(
                (path, stat.size, stat.mtime_ns, stat.ctime_ns, stat.ino, note.revision)
            )
        return File(note.revision, "", str(note.stat.ino), len(note.raw))

    def _is_agreed(self, path: str, note: Note) -> bool:
        """Whether a file is as the last sync left it: what was downloaded just now waits for nobody."""
        was = self._state.base_of(path)
        return isinstance(was, BaseFile) and was.hash == note.revision

    def put_off(self, paths: Iterable[str]) -> dict[str, Node]:
        """Of paths that are not there, those that another program holds elsewhere and loads when they are opened."""
        root = self._folder.root
        return {
            path: Unknown(NOT_LOADED)
            for path in paths
            if os.path.lexists(os.path.join(root, _placeholder(path)))
        }

    def read(self, path: str) -> Note | Unknown | None:
        """One file now; None when it is absent."""
        try:
            return self._folder.read(path, max_bytes=self._largest)
        except NoteNotFound:
            return None
        except NoteUnreadable as error:
            return Unknown(error.message)


def _placeholder(path: str) -> str:
    """What iCloud leaves in the place of a file that it has put off loading."""
    above, _, name = path.rpartition("/")
    return f"{above}/.{name}.icloud".lstrip("/")


NOT_LOADED = "another program has not loaded it yet"
BEING_SAVED = "it is being saved just now"
