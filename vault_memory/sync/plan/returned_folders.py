"""Folders whose notes all returned to earlier texts at once: older files were restored over them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Set

from vault_memory.sync.trees import ancestors

FEWEST = 2
"""A single note that returns to an earlier text is an edit"""


def returned_together(notes: Iterable[str], returned: Set[str]) -> frozenset[str]:
    """The returned notes of the folders in which all of `notes` returned, two or more.

    A folder has the notes of the folders below it, too.
    """
    by_folder: dict[str, list[str]] = defaultdict(list)
    for path in notes:
        for folder in ("", *ancestors(path)):
            by_folder[folder].append(path)
    together: set[str] = set()
    for paths in by_folder.values():
        if len(paths) >= FEWEST and all(path in returned for path in paths):
            together.update(paths)
    return frozenset(together)
