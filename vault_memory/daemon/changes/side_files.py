"""Files that search does not read, such as INBOX pages and audit files, between two scans.

A scan only lists them. So their times and sizes are compared with those of the last scan.
"""

from collections.abc import Iterable

from vault_memory.errors import VaultMemoryError
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder


class SideFiles:
    """The states of these files at the last scan."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._states: dict[str, Stat | None] | None = None

    def changed(self, paths: Iterable[str]) -> list[str] | None:
        """Returns which files differ from the last scan; None without an earlier scan."""
        previous = self._states
        self._states = {path: self._state(path) for path in paths}
        if previous is None:
            return None
        names = sorted(previous.keys() | self._states.keys())
        return [path for path in names if previous.get(path) != self._states.get(path)]

    def forget(self) -> None:
        """Forgets the last scan, while no client needs the difference."""
        self._states = None

    def _state(self, path: str) -> Stat | None:
        try:
            return self._folder.stat(path)
        except VaultMemoryError:
            # Fault (B40): the state is unknown now. At worst a client reads the file again.
            return None
