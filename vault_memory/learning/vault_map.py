"""Lists the files of a vault by scope, with one walk for the cycles of all scopes."""

import time
from collections import defaultdict
from hashlib import sha256

from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder

WORKSPACE = "group:main"
WALKED_AGAIN_SECONDS = 60.0
"""A cycle that waits for a model takes long, and other programs may create files meanwhile"""


class VaultMap:
    """Walks on first use, and again when the last walk was a minute ago."""

    def __init__(self, folder: Folder, layout: Layout) -> None:
        self._folder, self._layout = folder, layout
        self._walked = float("-inf")
        self._by_scope: dict[str, dict[str, Stat]] = {}
        self._profile = ""

    def scopes(self) -> set[str]:
        """Returns the scopes that learn: all persons, and channels with a transcript."""
        self._current()
        return self._learning

    def entries_of(self, scope: str) -> dict[str, Stat]:
        """Returns the files of a scope."""
        return self._current().get(scope, {})

    def stamp_of(self, scope: str) -> str:
        """Returns a digest that changes with the notes of a scope."""
        notes = sorted(
            (path, stat.size, stat.mtime_ns)
            for path, stat in self.entries_of(scope).items()
            if path.endswith(MARKDOWN)
        )
        return sha256(repr(notes).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def names_of(self, kind: str) -> frozenset[str]:
        """Returns the names of the scopes of a kind, such as ``user``, that have a file."""
        scopes = (scope.partition(":") for scope in self._current())
        return frozenset(name for scope_kind, _, name in scopes if scope_kind == kind)

    def around(self, scope: str) -> list[str]:
        """Returns the files that the places of a scope follow from.

        These are its own files, those of the workspace, and one profile, which shows how the
        vault names its folders.
        """
        entries = self._current()
        profile = [self._profile] if self._profile else []
        paths = [*profile, *entries.get(scope, ()), *entries.get(WORKSPACE, ())]
        return list(dict.fromkeys(paths))

    def look_at(self, path: str) -> None:
        """Updates one file that may have been created, written or deleted."""
        place = self._layout.place(path)
        # Fault: a path outside of the layout has no scope.
        if place is None or self._walked == float("-inf"):
            return
        try:
            stat = self._folder.stat(path)
        except VaultMemoryError:
            # Fault: the file is out of reach for a moment. The next walk sees it.
            return
        entries = self._by_scope.setdefault(place.scope, {})
        if stat is None:
            entries.pop(path, None)
        else:
            entries[path] = stat

    def _current(self) -> dict[str, dict[str, Stat]]:
        # Fault: another program may create files while a cycle waits for its model.
        if time.monotonic() - self._walked > WALKED_AGAIN_SECONDS:
            self._walk()
        return self._by_scope

    def _walk(self) -> None:
        by_scope: dict[str, dict[str, Stat]] = defaultdict(dict)
        self._profile = ""
        self._learning: set[str] = set()
        for path, stat in self._folder.listing().entries.items():
            place = self._layout.place(path)
            if place is None:
                continue
            by_scope[place.scope][path] = stat
            kind = place.scope.partition(":")[0]
            if kind == "user" or (kind == "channel" and place.kind == "transcript"):
                self._learning.add(place.scope)
            is_profile = place.kind == "user" and path.startswith("Users/")
            if is_profile and not self._profile:
                self._profile = path
        self._by_scope = dict(by_scope)
        # Fault: the clock of the wall may be set back. The monotonic one is not.
        self._walked = time.monotonic()
