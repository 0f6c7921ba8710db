"""Decides which notes to read and which to remove: a pure comparison of index and listing."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from vault_memory.index.store import IndexedFile, State
from vault_memory.vault.listing import Listing, Stat


class IngestPlan(NamedTuple):
    """The difference between the index and a listing of the vault. Paths are relative to it."""

    changed: tuple[str, ...]
    """new, not settled when last read, or of another size, time or inode since"""
    removed: tuple[str, ...]
    """indexed, and certainly absent"""
    unseen: tuple[str, ...]
    """indexed, in a folder that cannot be listed: the note may still exist"""


def plan_ingest(
    indexed: Mapping[str, IndexedFile],
    listing: Listing,
    *,
    is_memory: Callable[[str], bool],
    parked: Mapping[str, str],
) -> IngestPlan:
    """Compares the index with a listing.

    `is_memory`: whether search reads a path. `parked`: files that are skipped on purpose, with
    the `stamp` they had then.
    """
    changed: list[str] = []
    for path, stat in listing.entries.items():
        previous = indexed.get(path)
        if previous is not None:
            needs_reading = differs(previous, stat)
        else:
            # Fault (B49): a note that crashed its parser is left alone until its file
            # changes.
            is_parked = parked.get(path) == stamp(stat)
            needs_reading = not is_parked and is_memory(path)
        if needs_reading:
            changed.append(path)
    removed: list[str] = []
    unseen: list[str] = []
    beyond = frozenset(listing.beyond)
    for path in indexed:
        if path in listing.entries or path in beyond:
            continue
        # Fault (B40): a folder that cannot be listed is no proof that its notes were
        # deleted.
        if listing.covers(path):
            removed.append(path)
        else:
            unseen.append(path)
    return IngestPlan(tuple(changed), tuple(removed), tuple(unseen))


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
