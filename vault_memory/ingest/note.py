"""Indexes one complete note: parse, cut into chunks, keep equal chunks, in one transaction."""

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown import document, encodings
from vault_memory.markdown.chunking import chunker
from vault_memory.markdown.properties import note_properties
from vault_memory.rules.conversations import turn as conversations_turn
from vault_memory.rules.facts import fact
from vault_memory.rules.paths import canvas
from vault_memory.rules.paths.layout import Place
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Note

if TYPE_CHECKING:
    from vault_memory.markdown.chunking.chunk_text import Chunk
    from vault_memory.markdown.properties.note_properties import Property
    from vault_memory.rules.facts.fact import Fact

CLOCK_TICK_NS = 50_000_000
"""Longer than a tick of file times, which is up to 10 ms"""

FACTS, TRANSCRIPT, CANVAS = "facts", "transcript", "canvas"
LARGEST_TRANSCRIPT = 64 << 20
"""In bytes: of one file. Its lines are read one by one, so it may be larger than a note"""

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_FRONT = (b"---", b"\xef\xbb\xbf---")
"""How a note with front matter begins"""
NEVER = Stat(-1, -1, -1, -1, -1)
"""Equals no file, so a comparison with it always reports a change"""


def largest(place: Place | None) -> int | None:
    """Returns how many bytes of a file are read at most; None for the limit of notes."""
    if place is not None and place.kind == TRANSCRIPT:
        return LARGEST_TRANSCRIPT
    return None


def entry_of(note: Note, place: Place, state: State, *, read_ns: int) -> IndexEntry:
    """Parses `note`, read at wall-clock time `read_ns`, into an entry of the index."""
    file = indexed_file(note, state, read_ns=read_ns)
    return entry_from(note, place, parts_of(note.raw, place), file)


class Parts(NamedTuple):
    """The parsed content of a note."""

    chunks: "Sequence[Chunk]"
    also: Sequence[str] = ()
    facts: "Sequence[Fact]" = ()
    properties: "Sequence[Property]" = ()


def parts_of(raw: bytes, place: Place) -> Parts:
    """Parses the bytes of a note. For a large one a separate process does it; see `worker`."""
    if place.kind == TRANSCRIPT:
        turns = conversations_turn.turn_chunks(raw, place.scope)
        return Parts([turn.chunk for turn in turns], tuple(turn.also for turn in turns))
    if place.kind == CANVAS:
        return Parts(chunker.chunk(canvas.as_markdown(encodings.as_utf8(raw))))
    is_foreign = not document.is_text(raw)
    text = encodings.as_utf8(raw) if is_foreign else raw
    facts = _facts_of(text, place) if place.kind == FACTS else ()
    properties = note_properties.note_properties(text)
    if text.startswith(_FRONT):
        properties = (*note_properties.front_lines(text), *properties)
    if is_foreign:
        encoding = note_properties.in_encoding(encodings.encoding_of(raw))
        properties = (encoding, *properties)
    return Parts(chunker.chunk(text), facts=facts, properties=properties)


def entry_from(note: Note, place: Place, content: Parts, file: IndexedFile) -> IndexEntry:
    """Builds the entry of a parsed note."""
    day = place.date.isoformat() if place.date else _written_date(content)
    return IndexEntry(
        path=note.path,
        scope=place.scope,
        kind=place.kind,
        date=day,
        bytes=len(note.raw),
        file=file,
        chunks=content.chunks,
        also=content.also,
        facts=content.facts,
        properties=content.properties,
    )


def _written_date(content: Parts) -> str | None:
    """Returns the date in the front matter of a note whose name has none."""
    for entry in content.properties:
        if entry.name == "date" and (day := _DATE.match(entry.value)):
            try:
                return date.fromisoformat(day[0]).isoformat()
            except ValueError:
                # Fault: "2026-02-30" is no day.
                return None
    return None


def _facts_of(raw: bytes, place: Place) -> "Sequence[Fact]":
    return fact.read_facts(document.parse(raw), place.scope)


def indexed_file(note: Note, state: State, *, read_ns: int) -> IndexedFile:
    """Returns the size, times, inode and revision that reveal the next change of a file."""
    # Fault (C60): a file read so soon after its own time may change again within the
    # same tick of the clock.
    is_racy = read_ns - note.stat.ctime_ns < CLOCK_TICK_NS
    stat = NEVER if is_racy else note.stat
    return IndexedFile(stat.size, stat.mtime_ns, stat.ctime_ns, stat.ino, note.revision, state)


def ingest_note(
    index: Index, note: Note, place: Place, state: State, *, read_ns: int
) -> Delta | None:
    """Brings the index up to date with `note`. None: it had these bytes already."""
    previous = index.file(note.path)
    if previous is not None and previous.revision == note.revision:
        current = indexed_file(note, state, read_ns=read_ns)
        if previous != current:
            index.touch(note.path, current)
        return None
    entry = entry_of(note, place, state, read_ns=read_ns)
    with index.transaction():
        index.unpark(note.path)
        return index.put(entry)


def ingest_entries(index: Index, entries: Sequence[IndexEntry]) -> Delta:
    """Writes many notes in one transaction. A crash loses the batch, never half a note."""
    with index.transaction():
        present = index.indexed_paths([entry.path for entry in entries])
        delta = index.put_new(entry for entry in entries if entry.path not in present)
        for entry in entries:
            if entry.path in present:
                index.unpark(entry.path)
                delta += index.put(entry)
    return delta


def forget_note(index: Index, path: str) -> Delta:
    """Removes a deleted note and everything that was read from it."""
    with index.transaction():
        index.unpark(path)
        return index.remove(path)
