"""What to read and what to forget: a pure decision from what is held and what is there."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from vault_memory.index.store import IndexedFile, State
from vault_memory.vault.listing import Listing, Stat


class IngestPlan(NamedTuple):
    """The difference between the index and a listing of the vault. Paths are relative to the vault."""

    changed: tuple[str, ...]
    """new, or not settled when it was read, or of another size, time or inode since"""
    removed: tuple[str, ...]
    """held, and positively absent"""
    unseen: tuple[str, ...]
    """held, and it cannot be told what is there: unknown is not absent"""


def plan_ingest(
    held: Mapping[str, IndexedFile],
    listing: Listing,
    *,
    wanted: Callable[[str], bool],
    parked: Mapping[str, str],
) -> IngestPlan:
    """Compare what is `held` with what is there.

    `wanted` says whether a path is memory that search reads.
    `parked`: files not read on purpose, with the `stamp` they had then.
    """
    changed: list[str] = []
    for path, stat in listing.entries.items():
        known = held.get(path)
        if known is None:
            if parked.get(path) != stamp(stat) and wanted(path):
                changed.append(path)
        elif known[:4] != stat[:4] or known.state != State.SETTLED:
            changed.append(path)
    missing = [path for path in held if path not in listing.entries]
    removed = [path for path in missing if listing.covers(path)]
    unseen = [path for path in missing if not listing.covers(path)]
    return IngestPlan(tuple(changed), tuple(removed), tuple(unseen))


def stamp(stat: Stat) -> str:
    """What tells one state of a file from the next without reading it."""
    return f"{stat.size}-{stat.mtime_ns}-{stat.ctime_ns}-{stat.ino}"
