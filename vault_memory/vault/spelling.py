"""Knows how a folder spells its names, on file systems where other spellings open the same file.

macOS, Windows drives in WSL and many network folders take `boat.md` for `Boat.md`. A layout
compares names letter by letter, so another spelling could belong to another person.
"""

import os
import unicodedata

MOST_NAMES = 200_000
"""Names that are remembered at the same time"""


class Spelling:
    """The names of one vault as its folders list them."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._names: dict[str, frozenset[str]] = {}
        """Folder → its names, as they were at some time"""

    def listed(self, path: str) -> str:
        """Returns the path as the folders spell it. What they do not list stays as it is."""
        folder = ""
        for name in path.split("/"):
            folder = f"{folder}/{self._listed_name(folder, name)}".lstrip("/")
        return folder

    def _listed_name(self, folder: str, name: str) -> str:
        if name in self._names.get(folder, ()):
            return name
        names = self._read_names(folder)
        if name in names:
            return name
        same = [other for other in names if _folded(other) == _folded(name)]
        return same[0] if same else name

    def _read_names(self, folder: str) -> frozenset[str]:
        try:
            names = frozenset(os.listdir(os.path.join(self._root, folder)))
        except OSError:
            return frozenset()
        # Fault: in a very large vault these names would fill the memory.
        if sum(map(len, self._names.values())) > MOST_NAMES:
            self._names.clear()
        self._names[folder] = names
        return names


def _folded(name: str) -> str:
    composed = unicodedata.normalize("NFC", name).casefold()
    return unicodedata.normalize("NFC", composed)
