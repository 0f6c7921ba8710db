"""The daemon's work for edits: versions that people save, pending writes, conflict copies."""

import logging
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.vault.watch.note_event import NoteEvent

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ResolvedConflict

logger = logging.getLogger(__name__)

VERSIONS_PER_TURN = 500
"""How many versions are stored in one turn of the loop"""
TEND_SECONDS = 1.0
"""Time between two checks of pending writes, displaced files, and pages that were just saved"""
IDLE_SECONDS = 5.0
"""Time between two checks when there was nothing to do: another process may have left something"""
PRUNE_SECONDS = 3600.0
COPIES_SECONDS = 30.0
"""Time between two checks of the conflict copies"""
SOON_SECONDS = 4.0
"""Time until the next check after a copy or its note changed: both must be unchanged for a while"""
RETRY_SECONDS = 30.0
"""Pause after the journal could not be used"""


class EditUpkeep:
    """Handles a few notes in each turn of the loop. Its failures do not affect search.

    It calls `tell_copy` for each conflict copy that it resolved.
    """

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell_copy: "Callable[[ResolvedConflict], None]" = lambda resolved: None,
        idle_seconds: float = IDLE_SECONDS,
        prune_seconds: float = 0.0,
    ) -> None:
        """The first deletion of old versions is due in `prune_seconds`."""
        self._memory = memory
        self._idle_seconds = idle_seconds
        self._tell_copy = tell_copy
        self._settled_notes: dict[str, None] = {}
        """Notes whose versions may have to be stored, in the order in which they settled"""
        self._pages: dict[str, None] = {}
        """INBOX pages on which a person may have decided something"""
        self._page_times: dict[str, int] = {}
        """Change times of INBOX pages at the last scan"""
        self._copies: set[str] = set()
        """Conflict copies that existed at the last check"""
        self._are_all_pages_due = True
        self._is_behind = True
        """Whether notes may have been saved while no daemon ran"""
        self._may_be_renamed = True
        """Whether notes disappeared, or may have while no daemon ran"""
        self._is_busy = False
        """Whether writes were pending at the last check"""
        self._next_tend = 0.0
        self._paused_until = 0.0
        self._next_prune = time.monotonic() + prune_seconds
        self._next_copies = 0.0

    @property
    def is_caught_up(self) -> bool:
        """Whether all is done about what was saved so far, and no copy waits for a person."""
        has_work = (
            self._is_behind
            or self._may_be_renamed
            or self._settled_notes
            or self._are_all_pages_due
            or self._pages
            or self._copies
            or self._is_busy
        )
        return not has_work and self._paused_until <= time.monotonic()

    def resume(self) -> None:
        """Goes on where an upkeep ended that was caught up; nothing was saved since."""
        self._is_behind = False
        self._may_be_renamed = False
        self._are_all_pages_due = False
        self._next_tend = time.monotonic() + self._idle_seconds

    def look_soon(self) -> None:
        """Plans a check of pending writes."""
        self._next_tend = 0.0

    def note_settled(self, paths: Iterable[str]) -> None:
        """Plans to store the indexed versions of these notes."""
        self._settled_notes.update(dict.fromkeys(paths))
        if self._settled_notes and self._copies:
            self._check_copies_soon()

    def note_gone(self) -> None:
        """Notes that a note disappeared: it may have another name now."""
        self._may_be_renamed = True

    def note_event(self, event: NoteEvent) -> None:
        """Notes that a file changed; only INBOX pages and conflict copies matter here."""
        path, place = event
        if place is not None and place.kind == "inbox":
            self._pages[path] = None
        elif place is None and conflict_copy(path.rpartition("/")[2]):
            self._copies.add(path)
            self._check_copies_soon()

    def note_copies(self, paths: Iterable[str]) -> None:
        """Notes the conflict copies that a scan found."""
        if not self._copies.issuperset(paths):
            self._copies.update(paths)
            self._check_copies_soon()

    def note_pages(self, paths: Iterable[str]) -> None:
        """Notes which INBOX pages among these files changed since the last scan."""
        for path in paths:
            place = self._memory.layout.place(path)
            if place is None or place.kind != "inbox":
                continue
            try:
                stat = self._memory.vault.folder.stat(path)
            except VaultMemoryError:
                # The state of the page is unknown now: the next scan asks again.
                continue
            if stat is not None and self._page_times.get(path) != stat.ctime_ns:
                self._page_times[path] = stat.ctime_ns
                self._pages[path] = None

    def check_all_pages(self) -> None:
        """Plans a check of all INBOX pages, since changes may have been missed."""
        self._are_all_pages_due = True

    def is_by_person(self, path: str, revision: str) -> bool:
        """Whether a person wrote this version. Of a version of ours, its writer gave notice."""
        try:
            return not self._memory.edits.is_ours(path, revision)
        except (VaultMemoryError, DatabaseError, OSError):
            # The journal cannot say it now: a save of a person must not go unreported.
            return True

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next turn."""
        now = time.monotonic()
        has_notes = self._settled_notes or self._is_behind or self._may_be_renamed
        if has_notes and self._paused_until <= now:
            return 0.0
        due = min(self._next_tend, self._next_prune)
        if self._copies:
            due = min(due, self._next_copies)
        return max(0.0, max(due, self._paused_until) - now)

    def tend_edits(self) -> None:
        """Does what is due."""
        now = time.monotonic()
        if now < self._paused_until:
            return
        try:
            # A renamed note gets its earlier versions before the new one is stored.
            if self._may_be_renamed:
                self._memory.edits.follow_renames()
                self._may_be_renamed = False
            self._store_versions()
            if now >= self._next_tend or self._pages:
                self._tend(now)
            # The versions that a merge is based on must be stored first.
            if now >= self._next_copies and not self._settled_notes:
                pause = TEND_SECONDS if self._settle_copies() else COPIES_SECONDS
                self._next_copies = now + pause
            if now >= self._next_prune:
                self._next_prune = now + PRUNE_SECONDS
                self._memory.edits.prune()
                # Some proposals may have expired.
                self._are_all_pages_due = True
        except (VaultMemoryError, DatabaseError, OSError) as error:
            # Fault (B39, B45): a damaged journal or a full disk must not stop the
            # index.
            logger.warning("versions cannot be stored, or writes not be finished: %s", error)
            self._paused_until = now + RETRY_SECONDS

    def _tend(self, now: float) -> None:
        """Processes pending writes, and carries out decisions on INBOX pages."""
        self._memory.edits.process_due()
        self._apply_decisions()
        self._is_busy = bool(self._pages) or self._memory.edits.is_busy()
        self._next_tend = now + (TEND_SECONDS if self._is_busy else self._idle_seconds)

    def _check_copies_soon(self) -> None:
        self._next_copies = min(self._next_copies, time.monotonic() + SOON_SECONDS)

    def _catch_up(self) -> None:
        """Plans to store what was saved while no daemon ran, without a read of each note.

        A review is needed only for notes with an open proposal, which one listing of the audit
        files names.
        """
        edits = self._memory.edits
        self._settled_notes.update(dict.fromkeys(edits.notes_without_snapshot()))
        self._settled_notes.update(dict.fromkeys(sorted(edits.notes_with_proposals())))
        self._is_behind = False

    def _store_versions(self) -> None:
        if self._is_behind:
            self._catch_up()
        paths = list(self._settled_notes)[:VERSIONS_PER_TURN]
        if paths:
            self._memory.edits.keep_versions(paths)
            for path in paths:
                del self._settled_notes[path]
            self._memory.edits.review(paths)

    def _settle_copies(self) -> bool:
        """Resolves the known copies that need no person. Returns whether there were any."""
        results = []
        if self._copies:
            results = self._memory.conflicts.settle(among=self._copies)
        self._copies = {path for path in self._copies if self._exists(path)}
        for resolved in results:
            self._tell_copy(resolved)
        return bool(results)

    def _exists(self, path: str) -> bool:
        try:
            return self._memory.vault.folder.stat(path) is not None
        except VaultMemoryError:
            # Fault (B40): unknown is not absent.
            return True

    def _apply_decisions(self) -> None:
        if self._are_all_pages_due:
            self._pages.update(dict.fromkeys(self._memory.edits.inbox_pages()))
            self._are_all_pages_due = False
        for page in list(self._pages):
            if self._memory.edits.apply_decisions(page):
                del self._pages[page]
