"""One note into the index, whole: parse, cut into chunks, keep what is the same, one transaction."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.layout import Place
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import LARGEST_PARSED, Note

if TYPE_CHECKING:
    from vault_memory.markdown import document
    from vault_memory.markdown.chunking import chunker
    from vault_memory.markdown.chunking.chunk_text import Chunk
    from vault_memory.rules.conversations import turn as conversations_turn
    from vault_memory.rules.facts import fact
    from vault_memory.rules.facts.fact import Fact
else:
    chunker = lazy_module("vault_memory.markdown.chunking.chunker")
    document = lazy_module("vault_memory.markdown.document")
    conversations_turn = lazy_module("vault_memory.rules.conversations.turn")
    fact = lazy_module("vault_memory.rules.facts.fact")

CLOCK_TICK_NS = 50_000_000
"""File times move in ticks of up to 10 ms. A file read so soon after its own time may change again within the tick."""

FACTS, TRANSCRIPT = "facts", "transcript"
LARGEST_TRANSCRIPT = 64 << 20
"""In bytes: of one file; its lines are read one by one, so that it may be larger than a note"""

NEVER = Stat(-1, -1, -1, -1, -1)
"""Equals no file: whoever compares with it looks again"""


def largest(place: Place | None) -> int:
    """How many bytes of a file are read, at most."""
    return (
        LARGEST_TRANSCRIPT
        if place is not None and place.kind == TRANSCRIPT
        else LARGEST_PARSED
    )


def entry_of(note: Note, place: Place, state: State, *, read_ns: int) -> IndexEntry:
    """What the index is to hold of `note`, read at wall-clock time `read_ns`."""
    return entry_from(
        note, place, parts_of(note.raw, place), held_of(note, state, read_ns=read_ns)
    )


class Parts(NamedTuple):
    """What is read from the bytes of a note."""

    chunks: "Sequence[Chunk]"
    also: Sequence[str] = ()
    facts: "Sequence[Fact]" = ()


def parts_of(raw: bytes, place: Place) -> Parts:
    """Take a note apart. Another process may do this for a large one; see `worker`."""
    if place.kind == TRANSCRIPT:
        turns = conversations_turn.turn_chunks(raw, place.scope)
        return Parts([turn.chunk for turn in turns], tuple(turn.also for turn in turns))
    return Parts(
        chunker.chunk(raw), facts=_facts_of(raw, place) if place.kind == FACTS else ()
    )


def entry_from(note: Note, place: Place, parts: Parts, held: IndexedFile) -> IndexEntry:
    """What the index is to hold of a note that was taken apart."""
    date = place.date.isoformat() if place.date else None
    return IndexEntry(
        note.path, place.scope, place.kind, date, len(note.raw), held, *parts
    )


def _facts_of(raw: bytes, place: Place) -> "Sequence[Fact]":
    return fact.read_facts(document.parse(raw), place.scope)


def held_of(note: Note, state: State, *, read_ns: int) -> IndexedFile:
    """The facts by which the next change is noticed; a racy time is not remembered."""
    racy = read_ns - note.stat.ctime_ns < CLOCK_TICK_NS
    stat = NEVER if racy else note.stat
    return IndexedFile(
        stat.size, stat.mtime_ns, stat.ctime_ns, stat.ino, note.revision, state
    )


def ingest_note(
    index: Index, note: Note, place: Place, state: State, *, read_ns: int
) -> Delta | None:
    """Bring the index up to date with `note`. None: it held these bytes already."""
    held = index.file(note.path)
    if held is not None and held.revision == note.revision:
        now = held_of(note, state, read_ns=read_ns)
        if held != now:
            index.touch(note.path, now)
        return None
    entry = entry_of(note, place, state, read_ns=read_ns)
    with index.transaction():
        index.unpark(note.path)
        return index.put(entry)


def ingest_entries(index: Index, entries: Iterable[IndexEntry]) -> Delta:
    """Many notes in one transaction: each is in it whole, and a crash loses the batch, not a part of a note."""
    delta = Delta()
    with index.transaction():
        parked = index.parked()
        for entry in entries:
            if entry.path in parked:
                index.unpark(entry.path)
            delta += index.put(entry)
    return delta


def forget_note(index: Index, path: str) -> Delta:
    """The note is gone for good: so is what was read from it."""
    with index.transaction():
        index.unpark(path)
        return index.remove(path)
