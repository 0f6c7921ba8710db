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
            if differs(previous, stat):
                changed.append(path)
        elif parked.get(path) != stamp(stat) and is_memory(path):
            changed.append(path)
    missing = [path for path in indexed if path not in listing.entries]
    # A folder that cannot be listed is no proof that its notes were deleted.
    removed = [path for path in missing if listing.covers(path)]
    unseen = [path for path in missing if not listing.covers(path)]
    return IngestPlan(tuple(changed), tuple(removed), tuple(unseen))


def differs(previous: IndexedFile, stat: tuple[int, ...]) -> bool:
    """Whether a file may differ from the index: by size, times or inode, or not settled yet."""
    return previous[:4] != stat[:4] or previous.state != State.SETTLED


def stamp(stat: Stat) -> str:
    """Returns a text that changes with the state of a file. Reads no bytes."""
    return f"{stat.size}-{stat.mtime_ns}-{stat.ctime_ns}-{stat.ino}"
