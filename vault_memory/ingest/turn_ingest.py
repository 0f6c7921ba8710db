"""Indexes new turns at once: only the lines appended to a transcript are parsed.

The index knows the digest of the bytes it was built from. When these are the bytes before the
new lines, only the lines are parsed. When the index is behind, the missing lines are read too.
Otherwise the complete file is indexed, like any other note.
"""

import hashlib
from typing import Any, NamedTuple

from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.ingest.note import NEVER, entry_of, largest
from vault_memory.rules.conversations.turn import turn_chunks
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.jsonl_log import Appended
from vault_memory.vault.reader import Folder

MOST_ENDS = 64
PATIENCE_MILLISECONDS = 50
"""For another process that writes into the index; after that the next scan indexes the lines"""


class _End(NamedTuple):
    """The indexed end of a transcript."""

    size: int
    lines: int
    digest: Any
    """of hashlib, of all bytes before the end"""

    def after(self, raw: bytes) -> "_End":
        """Returns the end after these bytes are appended."""
        digest = self.digest.copy()
        digest.update(raw)
        return _End(self.size + len(raw), self.lines + raw.count(b"\n"), digest)

    def is_of(self, file: IndexedFile | None) -> bool:
        """Whether the index was built from exactly the bytes before this end."""
        return file is not None and file.revision == self.digest.hexdigest()


class TurnIngest:
    """Indexes the turns of one vault. Remembers the ends of recent transcripts."""

    __slots__ = ("_ends", "_folder", "_layout")

    def __init__(self, folder: Folder, layout: Layout) -> None:
        self._folder = folder
        self._layout = layout
        self._ends: dict[str, _End] = {}

    def ingest(self, index: Index, path: str, added: Appended, *, read_ns: int) -> Delta | None:
        """Indexes the lines `added` to a transcript; None when the index has them already."""
        place = self._layout.place(path)
        if place is None or not place.indexed:
            return None
        # Fault: another process could read an older state of the file and write it
        # after this one.
        with index.waiting(PATIENCE_MILLISECONDS), index.transaction():
            file = index.file(path)
            end = self._ends.get(path) or _start()
            if end.size == added.offset and end.is_of(file):
                return self._extend(index, path, place, end, added.raw)
            return self._catch_up(index, path, place, file, read_ns)

    def _catch_up(
        self, index: Index, path: str, place: Place, file: IndexedFile | None, read_ns: int
    ) -> Delta | None:
        """Reads the lines that the index lacks, or the complete file if other bytes differ."""
        note = self._folder.read(path, max_bytes=largest(place))
        if file is not None:
            indexed = note.raw[: index.bytes_of(path)]
            end = _start().after(indexed)
            if indexed.endswith(b"\n") and end.is_of(file):
                # Fault (B42): the last line may be torn. Another process may append at
                # this moment.
                missing = note.raw[end.size : note.raw.rfind(b"\n") + 1]
                if not missing:
                    return None
                return self._extend(index, path, place, end, missing)
        self._remember(path, _start().after(note.raw))
        index.unpark(path)
        return index.put(entry_of(note, place, State.SETTLED, read_ns=read_ns))

    def _extend(self, index: Index, path: str, place: Place, end: _End, raw: bytes) -> Delta:
        """Adds the chunks of these lines, which follow `end`."""
        turns = turn_chunks(raw, place.scope, first_line=end.lines + 1)
        new_end = end.after(raw)
        self._remember(path, new_end)
        entry = IndexEntry(
            path,
            place.scope,
            place.kind,
            place.date.isoformat() if place.date else None,
            new_end.size,
            _file_of(new_end),
            [turn.chunk for turn in turns],
            tuple(turn.also for turn in turns),
        )
        return index.extend(entry)

    def _remember(self, path: str, end: _End) -> None:
        if len(self._ends) >= MOST_ENDS:
            self._ends.clear()
        self._ends[path] = end


def _file_of(end: _End) -> IndexedFile:
    """Describes the file without its times, so that the next scan compares it again."""
    # Fault (C60): a person may edit the log in the same clock tick. With these times
    # the next scan compares it again.
    stat = (NEVER.size, NEVER.mtime_ns, NEVER.ctime_ns, NEVER.ino)
    return IndexedFile(*stat, end.digest.hexdigest(), State.SETTLED)


def _start() -> _End:
    return _End(0, 0, hashlib.sha256())
