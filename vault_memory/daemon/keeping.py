"""What the daemon does for edits besides: it keeps the versions that people save, and tends to writes that wait."""

import logging
import time
from collections.abc import Iterable

from vault_memory.app import VaultMemory
from vault_memory.database import DatabaseError
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

AT_ONCE = 50
"""Versions that are kept in one turn of the loop"""
TEND_SECONDS = 1.0
"""Between two looks at writes that wait, files that were displaced, and pages that were saved just now"""
IDLE_SECONDS = 5.0
"""Between two looks when there was nothing: another process may have left something"""
PRUNE_SECONDS = 3600.0
COPIES_SECONDS = 30.0
"""Between two looks for conflict copies, which are not watched"""
SOON_SECONDS = 4.0
"""After a note was saved: a sync program that puts a copy beside a note writes the note, too"""
RETRY_SECONDS = 30.0
"""After the journal could not be used"""


class Keeping:
    """A few notes in each turn, so that nothing waits for it. Trouble here is no trouble for search."""

    def __init__(self, memory: VaultMemory) -> None:
        self._memory = memory
        self._paths: dict[str, None] = {}
        """settled, and perhaps not kept yet, in the order in which they settled"""
        self._pages: dict[str, None] = {}
        """INBOX pages on which something may have been decided"""
        self._look_at_all = True
        self._next_tend = 0.0
        self._failed_until = 0.0
        self._next_prune = 0.0
        self._next_copies = 0.0

    def later(self, paths: Iterable[str]) -> None:
        """Keep these notes as the index has them, soon."""
        self._paths.update(dict.fromkeys(paths))
        if self._paths:
            self._next_copies = min(self._next_copies, time.monotonic() + SOON_SECONDS)

    def heard(self, path: str) -> None:
        """A file changed; only an INBOX page matters here."""
        place = self._memory.layout.place(path)
        if place is not None and place.kind == "inbox":
            self._pages[path] = None

    def look_at_all_pages(self) -> None:
        """Changes may have been missed."""
        self._look_at_all = True

    def is_news(self, path: str, revision: str) -> bool:
        """Whether this version is of a person: what we wrote ourselves was told by whoever wrote it."""
        try:
            return not self._memory.is_ours(path, revision)
        except (VaultMemoryError, DatabaseError, OSError):
            return True

    def wait(self) -> float:
        """How long the loop may sleep, as far as this goes."""
        now = time.monotonic()
        if self._paths and self._failed_until <= now:
            return 0.0
        return max(0.0, max(self._next_tend, self._failed_until) - now)

    def turn(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        if now < self._failed_until:
            return
        try:
            self._keep()
            if now >= self._next_tend or self._pages:
                self._memory.tend()
                self._carry_out()
                busy = self._pages or self._memory.is_busy()
                self._next_tend = now + (TEND_SECONDS if busy else IDLE_SECONDS)
            if now >= self._next_copies and not self._paths:  # the versions that a merge is based on come first
                self._next_copies = now + COPIES_SECONDS
                if self._memory.settle_conflicts():
                    self._next_copies = now + TEND_SECONDS
            if now >= self._next_prune:
                self._next_prune = now + PRUNE_SECONDS
                self._memory.prune()
                self._look_at_all = True  # some may have waited for too long
        except (VaultMemoryError, DatabaseError, OSError) as error:
            logger.warning("versions cannot be kept, or writes not be finished: %s", error)
            self._failed_until = now + RETRY_SECONDS

    def _keep(self) -> None:
        paths = list(self._paths)[:AT_ONCE]
        if paths:
            self._memory.keep_versions(paths)
            for path in paths:
                del self._paths[path]
                self._memory.review(path)

    def _carry_out(self) -> None:
        if self._look_at_all:
            self._pages.update(dict.fromkeys(self._memory.inbox_pages()))
            self._look_at_all = False
        for page in list(self._pages):
            if self._memory.carry_out(page):
                del self._pages[page]
