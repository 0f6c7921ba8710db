"""What was just said into the index, at once: the end of a transcript is added, and the rest is not read again.

The index says of which bytes it was made. When those are the ones before the new lines, the lines are all that is
new; when the index is behind, what it lacks is read; else the file is taken in whole, as every other note is.
"""

import hashlib
from typing import Any, NamedTuple

from vault_memory.database.connection import BUSY_MILLISECONDS
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.ingest.note import NEVER, entry_of, largest
from vault_memory.rules.conversations.turn import turn_chunks
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.jsonl_log import Appended
from vault_memory.vault.reader import Folder

MOST_ENDS = 64
PATIENCE_MILLISECONDS = 50
"""For another process that writes into the index; after that the next look at the vault finds the lines"""


class _End(NamedTuple):
    """How far a transcript is known."""

    size: int
    lines: int
    digest: Any
    """of hashlib, of all bytes up to here"""

    def after(self, raw: bytes) -> "_End":
        digest = self.digest.copy()
        digest.update(raw)
        return _End(self.size + len(raw), self.lines + raw.count(b"\n"), digest)


class TurnIngest:
    """For one vault; remembers how far it has seen the transcripts that it added to."""

    __slots__ = ("_ends", "_folder", "_layout")

    def __init__(self, folder: Folder, layout: Layout) -> None:
        self._folder = folder
        self._layout = layout
        self._ends: dict[str, _End] = {}

    def ingest(
        self, index: Index, path: str, added: Appended, *, read_ns: int
    ) -> Delta | None:
        """The index takes in the lines that were `added` to the transcript; None when it holds them already."""
        place = self._layout.place(path)
        if place is None or not place.indexed:
            return None
        index.connection.set_busy_timeout(PATIENCE_MILLISECONDS)
        try:
            with index.transaction():  # nobody else reads an older state of the file and writes it after this one
                held = index.file(path)
                known = self._ends.get(path) or _start()
                if (
                    held
                    and known.size == added.offset
                    and held.revision == known.digest.hexdigest()
                ):
                    return self._extend(index, path, place, known, added.raw)
                return self._read(index, path, place, held, read_ns)
        finally:
            index.connection.set_busy_timeout(BUSY_MILLISECONDS)

    def _read(
        self,
        index: Index,
        path: str,
        place: Place,
        held: IndexedFile | None,
        read_ns: int,
    ) -> Delta | None:
        """The index knows less than was there before, or more, or something else: what it lacks is read."""
        note = self._folder.read(path, max_bytes=largest(place))
        if held is not None:
            known = _start().after(note.raw[: index.bytes_of(path)])
            if known.digest.hexdigest() == held.revision and note.raw[
                : known.size
            ].endswith(b"\n"):
                rest = note.raw[known.size : note.raw.rfind(b"\n") + 1]
                return self._extend(index, path, place, known, rest) if rest else None
        self._remember(path, _start().after(note.raw))
        index.unpark(path)
        return index.put(entry_of(note, place, State.SETTLED, read_ns=read_ns))

    def _extend(
        self, index: Index, path: str, place: Place, known: _End, raw: bytes
    ) -> Delta:
        end = self._remember(path, known.after(raw))
        said = turn_chunks(raw, place.scope, first_line=known.lines + 1)
        held = IndexedFile(
            NEVER.size,
            NEVER.mtime_ns,
            NEVER.ctime_ns,
            NEVER.ino,
            end.digest.hexdigest(),
            State.SETTLED,
        )
        chunks, also = [part.chunk for part in said], tuple(part.also for part in said)
        date = place.date.isoformat() if place.date else None
        return index.extend(
            IndexEntry(
                path, place.scope, place.kind, date, end.size, held, chunks, also
            )
        )

    def _remember(self, path: str, end: _End) -> _End:
        if len(self._ends) >= MOST_ENDS:
            self._ends.clear()
        self._ends[path] = end
        return end


def _start() -> _End:
    return _End(0, 0, hashlib.sha256())
