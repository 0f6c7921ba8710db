"""Scans the vault: each regular file with its hash. A file is read again only when its metadata changed."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.sync.state_db import FileHash, SyncState
from vault_memory.sync.trees import BaseFile, Dir, File, Link, Node, Unknown
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder, Note

QUIET_SECONDS = 0.5
"""How long a file must be unchanged before it travels"""
HOLD_SECONDS = 3.0
"""The same for a file that is empty"""
YOUNG_SECONDS = 3.0
"""The hash of a file that changed so recently is not cached: it may change again within one clock tick"""
NOT_LOADED = "another program has not loaded it yet"
BEING_SAVED = "it is being saved at the moment"


@dataclass(frozen=True, slots=True)
class LocalScan:
    """The vault as it was seen in one pass."""

    nodes: dict[str, Node]
    being_saved: dict[str, str]
    """paths that a program is saving, and why they wait"""


@dataclass(slots=True)
class _HashCache:
    """The hashes of the last scan, and new ones of this scan, by path."""

    previous: dict[str, FileHash]
    new: dict[str, FileHash] = field(default_factory=dict)

    def hash_of(self, path: str, stat: Stat) -> str | None:
        """The hash of a file whose metadata did not change; None otherwise."""
        cached = self.previous.get(path)
        metadata = (stat.size, stat.mtime_ns, stat.ctime_ns, stat.ino)
        if cached is None or cached[:4] != metadata:
            return None
        return cached.hash

    def add(self, note: Note) -> None:
        stat = note.stat
        self.new[note.path] = FileHash(
            stat.size, stat.mtime_ns, stat.ctime_ns, stat.ino, note.revision
        )


class LocalScanner:
    """Scans the folder of one vault."""

    def __init__(self, folder: Folder, state: SyncState, *, largest: int) -> None:
        self._folder = folder
        self._state = state
        self._largest = largest

    def scan(self, now: float) -> LocalScan:
        """Scan the whole vault. Raises VaultUnreachable."""
        listing = self._folder.listing(suffixes=("",))
        nodes: dict[str, Node] = {
            path: Dir(self._folder_id(path)) for path in listing.folders if path
        }
        nodes |= {path: Link() for path in listing.links}
        nodes |= {path: Unknown(reason) for path, reason in listing.unknown.items()}
        cache = _HashCache(self._state.hashes())
        being_saved: dict[str, str] = {}
        with self._folder.held():
            for path in (*listing.entries, *listing.copies):
                node = self._file(path, listing.entries.get(path), cache, now)
                if node is None:
                    continue
                nodes[path] = node
                if isinstance(node, Unknown) and node.reason == BEING_SAVED:
                    being_saved[path] = node.reason
        with self._state.transaction():
            self._state.store_hashes(cache.new)
        return LocalScan(nodes, being_saved)

    def _folder_id(self, path: str) -> str:
        """The inode of a folder, which survives a rename; empty when it has just gone."""
        try:
            return str(os.lstat(os.path.join(self._folder.root, path)).st_ino)
        except OSError:
            return ""

    def _file(self, path: str, stat: Stat | None, cache: _HashCache, now: float) -> Node | None:
        """The node of a file, from the cache if possible; None when it is absent."""
        if stat is not None:
            hashed = cache.hash_of(path, stat)
            if hashed is not None or stat.size > self._largest:
                return File(hashed, "", str(stat.ino), stat.size)
        note = self.read(path)
        if note is None or isinstance(note, Unknown):
            return note
        age = now - note.stat.ctime_ns / 1e9
        if self._is_being_saved(path, note, age):
            return Unknown(BEING_SAVED)
        # Fault (C60): a file may change again within the tick of its time, and a cached
        # hash would hide that.
        if not 0 <= age < YOUNG_SECONDS:
            cache.add(note)
        return File(note.revision, "", str(note.stat.ino), len(note.raw))

    def _is_being_saved(self, path: str, note: Note, age: float) -> bool:
        """Whether a program may still be saving a file. `age`: seconds since its last change."""
        # Fault (A4): an editor saves in several steps, and the first ones are uploaded.
        if not note.stable:
            return True
        quiet_seconds = QUIET_SECONDS if note.raw else HOLD_SECONDS
        # Fault (A3): an empty file is most often the first step of a save. Uploaded, it
        # would empty the note on every device.
        is_young = 0 <= age < quiet_seconds
        return is_young and not self._is_base(path, note)

    def _is_base(self, path: str, note: Note) -> bool:
        """Whether a file is as the last pass left it, so that a fresh download does not wait."""
        was = self._state.base_of(path)
        return isinstance(was, BaseFile) and was.hash == note.revision

    def placeholders(self, paths: Iterable[str]) -> dict[str, Node]:
        """The absent paths that another program loads only when they are opened."""
        root = self._folder.root
        return {
            path: Unknown(NOT_LOADED)
            for path in paths
            # Fault (D74): iCloud moves a note out of the way to save space. Its absence
            # is no deletion.
            if os.path.lexists(os.path.join(root, _placeholder(path)))
        }

    def read(self, path: str) -> Note | Unknown | None:
        """Read one file; None when it is absent."""
        try:
            return self._folder.read(path, max_bytes=self._largest)
        except NoteNotFound:
            return None
        except NoteUnreadable as error:
            return Unknown(error.message)


def _placeholder(path: str) -> str:
    """The file that iCloud puts in the place of one that it has not loaded."""
    above, _, name = path.rpartition("/")
    return f"{above}/.{name}.icloud".lstrip("/")
