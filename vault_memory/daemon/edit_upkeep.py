"""What the daemon does for edits besides: it keeps the versions that people save, and tends to writes that wait."""

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.note_event import NoteEvent
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.conflict_names import conflict_copy

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import Resolved

logger = logging.getLogger(__name__)

AT_ONCE = 50
"""Versions that are kept in one turn of the loop"""
TEND_SECONDS = 1.0
"""Between two looks at writes that wait, files that were displaced, and pages that were saved just now"""
IDLE_SECONDS = 5.0
"""Between two looks when there was nothing: another process may have left something"""
PRUNE_SECONDS = 3600.0
COPIES_SECONDS = 30.0
"""Between two looks at the conflict copies that lie beside their notes"""
SOON_SECONDS = 4.0
"""After a copy has come, or a note was saved while copies lie about: both must be left alone for a while"""
RETRY_SECONDS = 30.0
"""After the journal could not be used"""


class EditUpkeep:
    """A few notes in each turn, so that nothing waits for it. Trouble here is no trouble for search.

    `tell_copy` is called for each conflict copy that was settled.
    """

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell_copy: "Callable[[Resolved], None]" = lambda resolved: None,
    ) -> None:
        self._memory, self._tell_copy = memory, tell_copy
        self._paths: dict[str, None] = {}
        """settled, and perhaps not kept yet, in the order in which they settled"""
        self._pages: dict[str, None] = {}
        """INBOX pages on which something may have been decided"""
        self._page_times: dict[str, int] = {}
        """when INBOX pages had been changed last, as looks at the vault have found them"""
        self._copies: set[str] = set()
        """conflict copies that were there when they were looked at last"""
        self._look_at_all = True
        self._is_behind = True
        """whether notes may have been saved that no daemon has seen"""
        self._next_tend = 0.0
        self._failed_until = 0.0
        self._next_prune = 0.0
        self._next_copies = 0.0

    def later(self, paths: Iterable[str]) -> None:
        """Keep these notes as the index has them, soon."""
        self._paths.update(dict.fromkeys(paths))
        if self._paths and self._copies:
            self._next_copies = min(self._next_copies, time.monotonic() + SOON_SECONDS)

    def heard(self, event: NoteEvent) -> None:
        """A file changed; only INBOX pages and conflict copies matter here."""
        path, place = event
        if place is not None and place.kind == "inbox":
            self._pages[path] = None
        elif place is None and conflict_copy(path.rpartition("/")[2]):
            self._copies.add(path)
            self._next_copies = min(self._next_copies, time.monotonic() + SOON_SECONDS)

    def there_are_copies(self, paths: Iterable[str]) -> None:
        """A look at the vault has found these conflict copies."""
        if not self._copies.issuperset(paths):
            self._copies.update(paths)
            self._next_copies = min(self._next_copies, time.monotonic() + SOON_SECONDS)

    def there_are_pages(self, paths: Iterable[str]) -> None:
        """A look at the vault has found these files; an INBOX page that changed since the last look is looked at."""
        for path in paths:
            place = self._memory.layout.place(path)
            if place is None or place.kind != "inbox":
                continue
            with suppress(
                VaultMemoryError
            ):  # it cannot be told what is there: it is looked at again later
                stat = self._memory.vault.folder.stat(path)
                if stat is not None and self._page_times.get(path) != stat.ctime_ns:
                    self._page_times[path] = stat.ctime_ns
                    self._pages[path] = None

    def look_at_all_pages(self) -> None:
        """Changes may have been missed."""
        self._look_at_all = True

    def is_news(self, path: str, revision: str) -> bool:
        """Whether this version is of a person: what we wrote ourselves was told by whoever wrote it."""
        try:
            return not self._memory.edits.is_ours(path, revision)
        except (VaultMemoryError, DatabaseError, OSError):
            return True

    def wait(self) -> float:
        """How long the loop may sleep, as far as this goes."""
        now = time.monotonic()
        if (self._paths or self._is_behind) and self._failed_until <= now:
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
                self._memory.edits.process_due()
                self._carry_out()
                busy = self._pages or self._memory.edits.is_busy()
                self._next_tend = now + (TEND_SECONDS if busy else IDLE_SECONDS)
            if (
                now >= self._next_copies and not self._paths
            ):  # the versions that a merge is based on come first
                self._next_copies = now + (
                    TEND_SECONDS if self._settle_copies() else COPIES_SECONDS
                )
            if now >= self._next_prune:
                self._next_prune = now + PRUNE_SECONDS
                self._memory.edits.prune()
                self._look_at_all = True  # some may have waited for too long
        except (VaultMemoryError, DatabaseError, OSError) as error:
            logger.warning(
                "versions cannot be kept, or writes not be finished: %s", error
            )
            self._failed_until = now + RETRY_SECONDS

    def _catch_up(self) -> None:
        """Find what was saved while no daemon ran, without looking at each note by itself.

        Only a note with an open proposal has anything to review, and the audit files are listed once for all of them.
        """
        self._paths.update(dict.fromkeys(self._memory.edits.notes_without_snapshot()))
        self._paths.update(
            dict.fromkeys(sorted(self._memory.edits.notes_with_proposals()))
        )
        self._is_behind = False

    def _keep(self) -> None:
        if self._is_behind:
            self._catch_up()
        paths = list(self._paths)[:AT_ONCE]
        if paths:
            self._memory.edits.keep_versions(paths)
            for path in paths:
                del self._paths[path]
            self._memory.edits.review(paths)

    def _settle_copies(self) -> bool:
        """Settle the copies that are known to lie there; whether any needed nobody."""
        settled = (
            self._memory.conflicts.settle(among=self._copies) if self._copies else []
        )
        self._copies = {path for path in self._copies if self._is_there(path)}
        for resolved in settled:
            self._tell_copy(resolved)
        return bool(settled)

    def _is_there(self, path: str) -> bool:
        try:
            return self._memory.vault.folder.stat(path) is not None
        except VaultMemoryError:
            return True  # unknown is not absent

    def _carry_out(self) -> None:
        if self._look_at_all:
            self._pages.update(dict.fromkeys(self._memory.edits.inbox_pages()))
            self._look_at_all = False
        for page in list(self._pages):
            if self._memory.edits.apply_decisions(page):
                del self._pages[page]
