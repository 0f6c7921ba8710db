"""Which earlier texts of a file are known, of those that the server keeps: others came to stand there unseen.

Clients give files what times they like, so a time does not tell whether a text came before or after another one. What
is in the server's list now, and was not there while a text of ours was the last one, was written over that text.
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
    before_write: bool = False
    """whether it was made before a write of ours: if the server refuses that, another text was the last"""

    def has(self, version: FileVersion) -> bool:
        """Whether this version was listed with its size."""
        return self.sizes.get(version.id) == version.size


class KnownVersions:
    """The last such list of each file."""

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def of(self, path: str, revision: str) -> KnownList | None:
        """The list that was made while this revision was the last one; None when there is none."""
        fact = self._state.meta(_FACT + path)
        if not isinstance(fact, dict) or "sizes" not in fact:
            return None
        return KnownList(**fact) if fact["revision"] == revision else None

    def begin(self, path: str, revision: str) -> None:
        """A file is new on the server: nothing that lies in its versions was ever here."""
        self._state.set_meta(_FACT + path, asdict(KnownList(revision, {})))

    def save(
        self,
        path: str,
        revision: str,
        versions: Sequence[FileVersion],
        modified: int,
        *,
        before_write: bool = False,
    ) -> None:
        """Keep a list of the versions whose bytes are known here."""
        sizes = {one.id: one.size for one in versions}
        known = KnownList(revision, sizes, modified, before_write)
        with self._state.transaction():
            self._state.set_meta(_FACT + path, asdict(known))
