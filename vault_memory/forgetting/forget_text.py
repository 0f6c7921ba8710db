"""Forgetting, the whole way: the files, their past, the index; and then looking whether it is gone, everywhere."""

import logging
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.database.connection import DatabaseError
from vault_memory.edits.calls import aware
from vault_memory.errors import VaultMemoryError
from vault_memory.forgetting.residue import NAMED, traces
from vault_memory.forgetting.state_residue import (
    ON_SERVER,
    damaged_files,
    orphaned_audits,
    quarantine,
    rename,
    running_daemon,
)
from vault_memory.lazy import lazy_module
from vault_memory.rules.forgetting.matcher import TextMatcher

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.forgetting import vault_files
    from vault_memory.forgetting.vault_files import Forgetter, Forgetting
    from vault_memory.index import index_erase
    from vault_memory.ingest import note
    from vault_memory.sync import state_erase
else:
    vault_files = lazy_module("vault_memory.forgetting.vault_files")
    index_erase = lazy_module("vault_memory.index.index_erase")
    note = lazy_module("vault_memory.ingest.note")
    state_erase = lazy_module("vault_memory.sync.state_erase")

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""For files that are in use"""
ROUNDS = 3
"""Another process may have kept what it had read just before; then it is done once more"""
STATE = "state: "
"""Before the name of a file that lies in the state folder"""
NOT_OURS = "no layout names it as memory, so it is left alone; edit it yourself"
DAEMON = "the daemon reads no file that says it, and may have it in its memory until it is started anew"
BUILDING = "build.lock"
CLEARED = ("journal.sqlite", "index/")
"""Of the state folder, what forgetting takes it out of"""


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken out, or would be."""

    place: str
    """a path of the vault, or `history`, `trash`, `waiting writes`, `index`, or a file of the state folder"""
    count: int
    """of items, lines, records or versions"""


@dataclass(frozen=True, slots=True)
class Remaining:
    """Where it is still."""

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class Alike:
    """Where something reads like the text and is written otherwise. It stays."""

    place: str
    count: int


@dataclass(frozen=True, slots=True)
class InMemory:
    """A running process that read the text before, and may still have it in its memory."""

    pid: int
    why: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """That something was forgotten. It says nothing of what that was."""

    id: str
    ts: str
    places: int
    count: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What `forget` did, or with a dry run would do."""

    matches: int
    removed: tuple[Removed, ...]
    remaining: tuple[Remaining, ...] = ()
    receipt: Receipt | None = field(default=None)
    """None when nothing was to be done but to look"""
    alike: tuple[Alike, ...] = ()
    in_memory: tuple[InMemory, ...] = ()


def forget(
    edits: "EditCalls",
    text: str,
    *,
    scopes: Collection[str] | None,
    now: datetime | None,
    dry_run: bool,
) -> Forgotten:
    """Find `text`, take it out, and look for it once more. Raises TextTooShort, UsageError, JournalUnavailable."""
    sought, at = TextMatcher.of(text), aware(now)
    forgetter = vault_files.Forgetter(
        edits.editor,
        edits.vault.layout,
        sought,
        None if scopes is None else frozenset(scopes),
    )
    work = _Work(
        edits,
        sought,
        None if scopes is None else frozenset(scopes),
        forgetter,
        vault_files.Forgetting(),
    )
    work.look(at)
    if dry_run:
        return work.answer(None)
    for number in range(ROUNDS):
        before = dict(work.found.remaining)
        work.found.remaining.clear()
        work.carry_out(at, patient=number == 0)
        work.check(at)
        if work.found.remaining in ({}, before):
            break
    answer = work.answer(at)
    logger.info(
        "forgot something in %d places; it remains in %d",
        len(answer.removed),
        len(answer.remaining),
    )
    return answer


class _Work:
    """On one text."""

    def __init__(
        self,
        edits: "EditCalls",
        sought: "TextMatcher",
        scopes: frozenset[str] | None,
        forgetter: "Forgetter",
        found: "Forgetting",
    ) -> None:
        self._edits, self._sought, self._scopes, self._forgetter = (
            edits,
            sought,
            scopes,
            forgetter,
        )
        self.found = found
        self._state: Path = edits.vault.state.path

    def look(self, now: datetime) -> None:
        """Only look."""
        self._forgetter.look(self.found)
        if (self._state / "journal.sqlite").exists():
            self._forgetter.look_back(self.found, now)
        if self._edits.vault.indexing.generations.current:
            self.found.took("index", sum(self._held().values()))
        for file in (*damaged_files(self._state), *self._put_aside()):
            self.found.took(STATE + file.relative_to(self._state).as_posix(), 1)
        for path, _ in self._orphans():
            self.found.took(path, 1)
        self.found.remaining.update(self._elsewhere(ours=False))

    def carry_out(self, now: datetime, *, patient: bool) -> None:
        """Take it out; `patient` waits a moment for files that are in use."""
        with self._edits.editor.turn(now):
            for path, masked in self._orphans():
                rename(self._edits.vault.root, path, masked)
        self._forgetter.carry_out(
            self.found, now, patience=PATIENCE_SECONDS if patient else 0.0
        )
        for file in (*damaged_files(self._state), *self._put_aside()):
            file.unlink(missing_ok=True)
        if self._scopes is None:
            self._clear_sync_state()
        if self._edits.vault.indexing.generations.current:
            self._clear_index()

    def check(self, now: datetime) -> None:
        """Look everywhere again, in files and rows, as if nothing had been done."""
        left = vault_files.Forgetting()
        self._forgetter.look(left)
        self._forgetter.look_back(left, now)
        self.found.alike = left.alike
        known = self.found.remaining
        for place in left.removed:
            known.setdefault(place, "it is there again; run `forget` again")
        known.update(
            {place: why for place, why in left.remaining.items() if place not in known}
        )
        if self._edits.vault.indexing.generations.current:
            known.update(self._left_in_index())
        known.update(
            {place: why for place, why in self._elsewhere() if place not in known}
        )

    def answer(self, now: datetime | None) -> Forgotten:
        """With a receipt when something was done."""
        mask = self._sought.masked
        gone = {
            place: count
            for place, count in self.found.removed.items()
            if place not in self.found.remaining
        }
        removed = tuple(Removed(mask(place), count) for place, count in gone.items())
        remaining = tuple(
            Remaining(mask(place), why) for place, why in self.found.remaining.items()
        )
        count = sum(one.count for one in removed)
        receipt = (
            Receipt(secrets.token_hex(8), now.isoformat(), len(removed), count)
            if now
            else None
        )
        alike = tuple(
            Alike(mask(place), count) for place, count in self.found.alike.items()
        )
        return Forgotten(
            count,
            removed,
            remaining,
            receipt,
            alike,
            self._in_memory() if receipt else (),
        )

    def _in_memory(self) -> tuple[InMemory, ...]:
        pid = running_daemon(self._state)
        return (InMemory(pid, DAEMON),) if pid else ()

    # ---- the index ------------------------------------------------------------------------------------------------

    def _held(self) -> dict[str, int]:
        """The notes of whose chunks some hold it."""
        found = index_erase.notes_holding(
            self._edits.vault.indexing.index(), self._sought.stands_in
        )
        return {
            path: count
            for path, (scope, count) in found.items()
            if self._scopes is None or scope in self._scopes
        }

    def _clear_index(self) -> None:
        """The index learns the notes as they are now, and keeps nothing of what they were."""
        import filelock

        indexing = self._edits.vault.indexing
        indexing.refresh()
        for path in self._held():  # of a file that is absent, or not read any more
            note.forget_note(indexing.index(), path)
        with filelock.FileLock(indexing.generations.folder / BUILDING):
            for file in index_erase.superseded(indexing.generations):
                file.unlink(missing_ok=True)
        if not index_erase.sweep(indexing.index()):
            self.found.remaining[STATE + "index"] = (
                "another process reads it; run `forget` again"
            )

    def _left_in_index(self) -> Iterator[tuple[str, str]]:
        index = self._edits.vault.indexing.index()
        if self._held():
            yield "index", "a note holds it again; run `forget` again"
        if index_erase.unused(index):
            yield (
                "index",
                "words or vectors of removed text are left; run `forget` again",
            )

    # ---- everything else ------------------------------------------------------------------------------------------

    def _put_aside(self) -> list[Path]:
        return quarantine(self._state, self._sought) if self._scopes is None else []

    def _orphans(self) -> list[tuple[str, str]]:
        """Audit files of notes that were renamed, whose own names hold it."""
        return (
            list(orphaned_audits(self._edits.vault.root, self._sought))
            if self._scopes is None
            else []
        )

    def _clear_sync_state(self) -> None:
        """Old names go from the state of sync."""
        place = STATE + "sync.sqlite"
        try:
            erased = state_erase.erase_names(
                self._state,
                self._sought.stands_in,
                lambda path: (self._edits.vault.root / path).exists(),
            )
        except (DatabaseError, VaultMemoryError) as error:
            self.found.remaining[place] = f"it cannot be read: {error}"
            return
        self.found.took(place, erased.count)
        if erased.on_server:
            self.found.remaining[place] = ON_SERVER
        elif not erased.compacted:
            self.found.remaining[place] = "another process reads it; run `forget` again"

    def _elsewhere(self, *, ours: bool = True) -> Iterator[tuple[str, str]]:
        """The files whose bytes hold it; with `ours` also those that forgetting takes it out of."""

        def handled(path: str) -> bool:
            return (self._scopes is not None and not self._forgetter.holds(path)) or (
                not ours
                and not self._sought.stands_in(path)
                and (self._forgetter.holds(path) or _is_temporary(path))
            )

        for path, why in traces(self._edits.vault.root, self._sought, besides=handled):
            if why != NAMED and not self._forgetter.holds(path):
                why = vault_files.LINGERS if _is_temporary(path) else NOT_OURS
            yield path, why
        if self._scopes is None:
            aside = [
                file.relative_to(self._state).as_posix() for file in self._put_aside()
            ]
            cleared = () if ours else (*CLEARED, *aside)
            for path, why in traces(
                self._state, self._sought, besides=lambda path: path.startswith(cleared)
            ):
                yield STATE + path, why


def _is_temporary(path: str) -> bool:
    """Whether it is named as what our writes leave behind for a while."""
    name = path.rpartition("/")[2]
    return name.startswith(".") and ".~" in name
