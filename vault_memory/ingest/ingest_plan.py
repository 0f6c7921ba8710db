"""Decides which notes to read and which to remove: a pure comparison of index and listing."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from vault_memory.index.store import IndexedFile, State
from vault_memory.vault.listing import Listing, Stat


class IngestPlan(NamedTuple):
    """The difference between the index and a listing of the vault. Paths are relative to it."""

    changed: dict[str, IndexedFile | None]
    """of another size, time or inode than indexed, or not settled then; new ones with None"""
    removed: tuple[str, ...]
    """indexed, and certainly absent"""
    unseen: tuple[str, ...]
    """indexed, in a folder that cannot be listed: the note may still exist"""
    unread: tuple[str, ...]
    """files that search does not read"""
    beyond: frozenset[str]
    """not indexed, and without room in the listing"""


def plan_ingest(
    indexed: Iterable[tuple[str, IndexedFile]],
    listing: Listing,
    *,
    is_memory: Callable[[str], bool],
    parked: Mapping[str, str],
) -> IngestPlan:
    """Compares the index with a listing.

    `indexed`: as of before the listing. Of a million notes only those that differ are held.
    `is_memory`: whether search reads a path. `parked`: files that are skipped on purpose, with
    the `stamp` they had then.
    """
    changed: dict[str, IndexedFile | None] = {}
    removed: dict[str, None] = {}
    unseen: dict[str, None] = {}
    beyond = frozenset(listing.beyond)
    new = {*listing.entries, *beyond}
    for path, file in indexed:
        stat = listing.entries.get(path)
        new.discard(path)
        if stat is not None and differs(file, stat):
            changed[path] = file
        # Fault (B40): a folder that cannot be listed is no proof that its notes were
        # deleted.
        elif stat is None and path not in beyond:
            (removed if listing.covers(path) else unseen)[path] = None
    unread: list[str] = []
    for path in filter(new.__contains__, listing.entries):
        if not is_memory(path):
            unread.append(path)
        # Fault (B49): a note that crashed its parser is left alone until its file changes.
        elif parked.get(path) != stamp(listing.entries[path]):
            changed[path] = None
    return IngestPlan(
        changed, tuple(removed), tuple(unseen), tuple(unread), beyond.intersection(new)
    )


def differs(previous: IndexedFile, stat: tuple[int, ...]) -> bool:
    """Whether a file may differ from the index: by size, times or inode, or not settled yet."""
    # Fault (C60): a note that was read while it was young may have changed without a
    # change of its times.
    if previous.state != State.SETTLED:
        return True
    return previous[:4] != stat[:4]


def stamp(stat: Stat) -> str:
    """Returns a text that changes with the state of a file. Reads no bytes."""
    return f"{stat.size}-{stat.mtime_ns}-{stat.ctime_ns}-{stat.ino}"
