"""Writes or removes a large note in several short transactions, so that other writers do not wait long.

Between the first slice and the last the note is marked: its row has no revision of the file and counts
as stale. After a crash the next scan reads the note again. A slice that does not find the mark ends the
work, because another process has written the note since.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from vault_memory.index import chunk_rows, fact_rows
from vault_memory.index.chunk_rows import Delta, NoteChunks
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State

SLICE = 200
"""Chunks in one transaction; removing that many takes about 20 CPU ms"""
MARK = "partial:"

Item = TypeVar("Item")


class Overtaken(Exception):
    """Another process has written the note, or removed it."""


def chunk_count(index: Index, path: str) -> int:
    """Return how many chunks of a note are indexed."""
    [(number,)] = index.connection.execute(
        "SELECT count(*) FROM chunk WHERE note = (SELECT id FROM note WHERE path = ?)", (path,)
    )
    return int(number)


def put_in_slices(index: Index, entry: IndexEntry) -> Iterator[Delta]:
    """Write a note. Yields the changes of each transaction after it."""
    if index.file(entry.path) is not None and index.scope_of(entry.path) != entry.scope:
        yield from remove_in_slices(index, entry.path)
    # Fault: a slice of another process must not take this mark for its own. So it is
    # random.
    mark = MARK + secrets.token_hex(8)
    with index.transaction():
        index.unpark(entry.path)
        index.put_marked(entry, _marked(mark))
    yield Delta()
    try:
        with _note(index, entry.path, mark) as note:
            content = NoteChunks(
                note,
                index.scope_id(entry.scope),
                entry.chunks,
                entry.date,
                index.other_scopes(entry),
            )
            change = chunk_rows.compare(index.connection, content)
        yield Delta(unchanged=change.unchanged)
        for removed in _sliced(change.removed):
            with _note(index, entry.path, mark):
                chunk_rows.remove(index.connection, removed)
            yield Delta(removed=len(removed))
        for moved in _sliced(change.moved):
            with _note(index, entry.path, mark):
                chunk_rows.move(index.connection, moved)
            yield Delta()
        for added in _sliced(change.added):
            with _note(index, entry.path, mark):
                chunk_rows.add(index.connection, added)
            yield Delta(added=len(added))
        with _note(index, entry.path, mark):
            index.finish_marked(entry)
        yield Delta()
    except Overtaken:
        return


def remove_in_slices(index: Index, path: str) -> Iterator[Delta]:
    """Delete a note. Yields the changes of each transaction after it."""
    mark = MARK + secrets.token_hex(8)
    with index.transaction():
        index.unpark(path)
        index.touch(path, _marked(mark))
    yield Delta()
    try:
        for _ in count():
            with _note(index, path, mark) as note:
                removed = chunk_rows.last_ids(index.connection, note, SLICE)
                chunk_rows.remove(index.connection, removed)
                is_last = len(removed) < SLICE
                if is_last:
                    fact_rows.remove(index.connection, note)
                    index.remove(path)
            yield Delta(removed=len(removed))
            if is_last:
                return
    except Overtaken:
        return


@contextmanager
def _note(index: Index, path: str, mark: str) -> Iterator[int]:
    """Begin a transaction on a note that still has its mark, and yield its id. Raises Overtaken."""
    with index.transaction():
        row = index.connection.execute(
            "SELECT id FROM note WHERE path = ? AND revision = ?", (path, mark)
        ).fetchone()
        # Fault: another process has written the note since. Two of them would leave a
        # mixture of both texts.
        if row is None:
            raise Overtaken
        yield row[0]


def _marked(mark: str) -> IndexedFile:
    return IndexedFile(-1, -1, -1, -1, mark, State.MISSING)


def _sliced(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), SLICE):
        yield items[start : start + SLICE]
