"""Remembers which versions of a file the server listed while a text of this device was the last one.

Clients give files any time they like, so a time does not prove the order of two texts. A version
that is listed now, and was not listed then, was written over that text of ours.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from vault_memory.remote.contract import FileVersion
from vault_memory.sync.state_db import SyncState

_FACT = "versions "


@dataclass(frozen=True, slots=True)
class KnownList:
    """The versions of a file as they were listed while one text was the last."""

    revision: str
    """of that text"""
    sizes: dict[str, int]
    """by id"""
    modified: int = 0
    """the time that the server gave that text; 0 when it is not known"""

    def has(self, version: FileVersion) -> bool:
        """Whether this version was listed with its size."""
        return self.sizes.get(version.id) == version.size


class KnownVersions:
    """The last such list of each file."""

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def of(self, path: str, revision: str) -> KnownList | None:
        """The list that was made while this revision was the last one; None when none was made."""
        fact = self._state.meta(_FACT + path)
        if not isinstance(fact, dict) or "sizes" not in fact:
            return None
        if fact["revision"] != revision:
            return None
        return KnownList(**fact)

    def begin(self, path: str, revision: str) -> None:
        """Record an empty list: the file is new on the server, and none of its versions was ever here."""
        self._state.set_meta(_FACT + path, asdict(KnownList(revision, {})))

    def save(self, path: str, known_list: KnownList) -> None:
        """Store a list of the versions whose bytes this device knows."""
        with self._state.transaction():
            self._state.set_meta(_FACT + path, asdict(known_list))


def sizes_of(versions: Sequence[FileVersion]) -> dict[str, int]:
    """The sizes of versions, by id."""
    return {version.id: version.size for version in versions}
