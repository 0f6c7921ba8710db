"""The files of a vault by scope, from one walk through it: what the nights of all scopes look into."""

import time
from collections import defaultdict

from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder

WORKSPACE = "group:main"
WALKED_AGAIN_SECONDS = 60.0
"""A night that waits for a model takes long; meanwhile other programs may have made files"""


class VaultMap:
    """Walks when it is first asked, and again when that was a minute ago."""

    def __init__(self, folder: Folder, layout: Layout) -> None:
        self._folder, self._layout = folder, layout
        self._walked = float("-inf")
        self._by_scope: dict[str, dict[str, Stat]] = {}
        self._profile = ""

    def paths(self) -> list[str]:
        """All files that the layout knows."""
        return [path for entries in self._looked().values() for path in entries]

    def entries_of(self, scope: str) -> dict[str, Stat]:
        """The files of a scope."""
        return self._looked().get(scope, {})

    def around(self, scope: str) -> list[str]:
        """The files of a scope, those of the workspace, and the profile of a person, which shows how folders are named.

        The places of the scope follow from these.
        """
        entries = self._looked()
        profile = [self._profile] if self._profile else []
        return list(
            dict.fromkeys(
                [*profile, *entries.get(scope, ()), *entries.get(WORKSPACE, ())]
            )
        )

    def look_at(self, path: str) -> None:
        """One file may have been made, written or thrown away."""
        place = self._layout.place(path)
        if place is None or self._walked == float("-inf"):
            return
        try:
            stat = self._folder.stat(path)
        except VaultMemoryError:
            return
        entries = self._by_scope.setdefault(place.scope, {})
        if stat is None:
            entries.pop(path, None)
        else:
            entries[path] = stat

    def _looked(self) -> dict[str, dict[str, Stat]]:
        if time.monotonic() - self._walked > WALKED_AGAIN_SECONDS:
            self._walk()
        return self._by_scope

    def _walk(self) -> None:
        by_scope: dict[str, dict[str, Stat]] = defaultdict(dict)
        self._profile = ""
        for path, stat in self._folder.listing().entries.items():
            place = self._layout.place(path)
            if place is not None:
                by_scope[place.scope][path] = stat
                if (
                    not self._profile
                    and place.kind == "user"
                    and path.startswith("Users/")
                ):
                    self._profile = path
        self._by_scope = dict(by_scope)
        self._walked = time.monotonic()
