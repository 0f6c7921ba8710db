"""Writes notes that people may be editing at the same moment, without losing a word of either side.

Every write names the revision it was made from. It waits until the preconditions hold, and is then
swapped in. The replaced version is compared, merged if an editor saved in the meantime, and
watched while an editor may still write to it. A crash leaves the note exactly old or exactly new,
and the next start finishes or rolls back what was interrupted.
"""

import fcntl
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.fs import Files, RealFiles
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import IS_OURS, LAST_SEEN, Snapshots, Version
from vault_memory.vault.write import purge
from vault_memory.vault.write.attempt import WriteResult, carry_out
from vault_memory.vault.write.displaced import poll_displaced
from vault_memory.vault.write.journal import (
    OPEN_PHASES,
    RECORDED,
    SALVAGED,
    Backlog,
    DisplacedFile,
    PendingWrite,
    open_journal,
)
from vault_memory.vault.write.loaded_note import LoadedNote, Unsettled, load, real_path
from vault_memory.vault.write.recovery import recover
from vault_memory.vault.write.replacement import Replacement, stamp
from vault_memory.vault.write.trash import TrashedNote, empty, list_trash, take_out
from vault_memory.vault.write.write_context import Barred, Merge, RenamedNotes, WriteContext, never

if TYPE_CHECKING:
    from vault_memory.vault.write.purge import Erased, Eraser

LOCK = "write.lock"
CLOCK = "clock"
FARTHEST = 120.0
"""Seconds within which the next look at a displaced file is always due"""
_ROUNDS = 40
"""Rounds of looks at displaced files in one call"""


class Writer:
    """All writes to one vault. A lock orders the writers of several processes."""

    def __init__(self, context: WriteContext, merge: Merge, *, lock: Path | None = None) -> None:
        self._context = context
        self._merge = merge
        self._lock = lock
        self.snapshots = context.snapshots
        self.journal = context.journal

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        state: Path,
        merge: Merge,
        *,
        barred: Barred = never,
        files: Files | None = None,
    ) -> Self:
        """Opens the writer of the vault at `root`, with its journal in `state`.

        `merge` also serves the writes that an earlier process left waiting.
        """
        journal = open_journal(state)
        context = WriteContext(
            files or RealFiles(root),
            journal,
            Snapshots(journal),
            # Fault: a program that guesses the name could create the temporary first.
            lambda: secrets.token_hex(8),
            barred,
        )
        return cls(context, merge, lock=state / LOCK)

    # --- Writes ---

    def load(self, path: str) -> LoadedNote:
        """Reads a note for a write of it, once for all."""
        loaded = load(self._context.files, path)
        names = (loaded.path, RECORDED + path)
        phases, [seen] = self.journal.read_all(OPEN_PHASES, (LAST_SEEN, names))
        has_unjudged_saves, recorded, *version = seen
        acknowledged = self._context.acknowledged
        newer = [op_id for op_id, note in acknowledged.items() if note == path]
        return LoadedNote(
            loaded.path,
            loaded.file,
            Version(*version) if version[0] is not None else None,
            bool(has_unjudged_saves),
            newer[-1] if newer else recorded or "",
            self._unsettled(phases),
        )

    def has_new_saves(self) -> bool:
        """Whether a write since the last question may have met a save that is not judged yet."""
        had_new_saves = self._context.has_new_saves
        self._context.has_new_saves = False
        return had_new_saves

    def written(self, write: PendingWrite) -> Note | None:
        """Returns the note as a write has just made it; None when a person saved since."""
        loaded = self._context.written.pop(write.op_id, None)
        return loaded.note if loaded else None

    def write(
        self,
        new: Replacement,
        *,
        now: datetime,
        merge: Merge | None = None,
        loaded: LoadedNote | None = None,
    ) -> WriteResult:
        """Replaces the text of a note, or creates the note.

        Where the note has changed, `merge` makes the text. `loaded` is the note as `load` returned
        it, which spares reading it again.
        """
        path, op_id = new.path, new.op_id
        if loaded is None:
            inside(path)
        at = now.timestamp()
        with self._transaction(at) as backlog:
            # Fault (B33): a caller that was killed before our answer repeats its write.
            if previous := backlog.write(op_id):
                return WriteResult.of(previous)
            write = new.as_write(now)
            self._context.stage_content(op_id, new.content)
            real = loaded.path if loaded else real_path(self._context.files, path)
            if real is None:
                return WriteResult.of(self._context.postpone(write, "outside"))
            if loaded is not None:
                self._context.stage_loaded(op_id, loaded)
            # Fault (A5): late text of an editor comes first. This write may be based on
            # it.
            if self._poll_displaced(now, backlog.displaced):
                backlog = self.journal.backlog()
                self._context.new_displaced.clear()
            write = self._carry_out_in_order(
                replace(write, path=real), merge or self._merge, at, backlog
            )
            self._poll_displaced(now, list(self._context.new_displaced.values()))
        return WriteResult.of(write)

    def trash(
        self, path: str, *, expected: str, now: datetime, op_id: str, record: bytes = b""
    ) -> WriteResult:
        """Moves a note to the trash if it still has this revision; an edit beats a deletion."""
        inside(path)
        at = now.timestamp()
        with self._transaction(at) as backlog:
            if previous := backlog.write(op_id):
                return WriteResult.of(previous)
            write = PendingWrite(op_id, path, "ours", expected, "", at, stamp(now), record=record)
            write = self._carry_out_in_order(write, self._merge, at, backlog)
            self._poll_displaced(now, self.journal.displaced())
        return WriteResult.of(write)

    def is_ours(self, path: str, revision: str) -> bool:
        """Whether a write put this version in place, and not a person; also during the write."""
        [is_ours] = self.journal.first(IS_OURS, (path, revision))
        return bool(is_ours)

    def pending(self) -> list[PendingWrite]:
        """Returns the writes that wait, each with its reason; `content` returns their texts."""
        return [write for write in self.journal.ops("pending") if not write.entry]

    def content(self, op: PendingWrite) -> bytes:
        """Returns the text that a write was to put in place."""
        return self._context.content(op)

    def discard(self, op_id: str) -> None:
        """Gives up a write that waits."""
        write = self.journal.op(op_id)
        if write is not None and write.phase == "pending":
            with self.journal.transaction():
                self.journal.remove(op_id)

    def finished(self) -> list[PendingWrite]:
        """Returns done writes whose records are not acknowledged yet, the oldest first."""
        return [
            write
            for write in self.journal.ops("done")
            if write.op_id not in self._context.acknowledged
        ]

    def newly_finished(self) -> list[PendingWrite]:
        """Returns those of the `finished` writes that this process finished since it last asked."""
        context = self._context
        writes, context.done = context.done, []
        return [write for write in writes if write.op_id not in context.acknowledged]

    def acknowledge(self, op_ids: Iterable[str], note: str = "") -> None:
        """Notes that the records of these writes are safe in the audit of a note.

        After a crash `finished` may return such a write again.
        """
        self._context.acknowledged.update(dict.fromkeys(op_ids, note))

    def tend(self, now: datetime) -> list[WriteResult]:
        """Processes what is due: waiting writes, displaced files. Returns the writes now done."""
        with self._transaction(now.timestamp()):
            results = self._retry_pending(now.timestamp())
            self._poll_displaced(now, self.journal.displaced())
            self._forget_purged()
        return results

    # --- Recovery ---

    def recovered(self, now: datetime) -> list[PendingWrite]:
        """Finishes or rolls back interrupted writes. Returns the writes that wait."""
        with self._transaction(now.timestamp()):
            return self.pending()

    def begun(self) -> list[PendingWrite]:
        """Returns interrupted writes that are not recovered yet; their notes may have our text."""
        return self.journal.ops("planned")

    def unsettled(self) -> frozenset[Unsettled]:
        """Returns what an earlier transaction, of any process, left to do."""
        return self._unsettled(self.journal.execute(*OPEN_PHASES))

    def _unsettled(self, rows: Iterable[Any]) -> frozenset[Unsettled]:
        phases: dict[str, str] = dict(rows)
        unsettled: set[Unsettled] = set()
        if phases.pop(SALVAGED, None) is not None:
            unsettled.add("salvaged")
        if phases.keys() - self._context.acknowledged.keys():
            unsettled.add("unrecorded")
        if "planned" in phases.values():
            unsettled.add("interrupted")
        return frozenset(unsettled)

    # --- Displaced files ---

    def displaced(self) -> list[DisplacedFile]:
        """Returns the displaced files that are still watched."""
        return self._watched(self.journal.displaced())

    def is_due(self, at: float) -> bool:
        """Whether `tend` has a displaced file to look at."""
        return any(_is_due(entry, at) for entry in self.displaced())

    # --- What is kept outside the vault ---

    def thrown(self) -> list[TrashedNote]:
        """Returns the notes in the trash, the newest first."""
        return list_trash(self._context)

    def untrash(self, thrown_id: str, *, now: datetime, op_id: str) -> WriteResult:
        """Restores a note; beside the note that has its name by now, if there is one.

        Raises KeyError when it is not in the trash.
        """
        trashed = {note.id: note for note in self.thrown()}[thrown_id]
        raw = self.snapshots.bytes_of(trashed.revision) or b""
        # Fault: a merge would mix two notes that may have nothing in common but the
        # name.
        new = Replacement(trashed.path, raw, expected=None, op_id=op_id)
        result = self.write(new, now=now, merge=lambda *_: None)
        if result.outcome != "pending":
            take_out(self._context, trashed)
        return result

    def erase(self, eraser: "Eraser", now: datetime, *, dry_run: bool = False) -> "Erased":
        """Redacts a text from everything that is kept outside the vault, or only counts it."""
        if dry_run:
            erased = purge.look_through(self.journal, eraser)
            erased.names = purge.names_kept(self._context, eraser)
            return erased
        with self._transaction(now.timestamp()) as backlog:
            self._poll_displaced(now, backlog.displaced)
            return purge.erase(self._context, eraser)

    def prune(self, now: datetime) -> int:
        """Deletes old versions and old trash. Returns how many versions were deleted."""
        clock = self._clock(now)
        with self.journal.transaction():
            self.journal.set_state(CLOCK, f"{clock.seen} {clock.doubted_until}")
        # Fault (B50): a clock that jumped ahead makes every version look old.
        if not clock.believed:
            return 0
        empty(self._context, now.timestamp())
        return self.snapshots.prune(now.timestamp())

    def clock_is_trustworthy(self, now: datetime) -> bool:
        """Whether the clock can be trusted as to the age of versions."""
        return self._clock(now).believed

    def _clock(self, now: datetime) -> "Clock":
        at = now.timestamp()
        saved = self.journal.state(CLOCK)
        if saved:
            seen, doubted_until = map(float, saved.split())
            return Clock(seen, doubted_until).looked(at)
        newest = self.snapshots.newest()
        return Clock(at if newest is None else newest).looked(at)

    def rename(self, renamed: RenamedNotes, now: datetime) -> None:
        """Gives what is known of notes, and the writes that wait for them, to their new paths."""
        with self._transaction(now.timestamp()):
            self._context.rename(renamed)

    def close(self) -> None:
        """Closes the journal. The next process that opens it watches the displaced files."""
        if self._context.acknowledged:
            self._context.flush()
        self.journal.close()

    # --- Steps ---

    @contextmanager
    def _transaction(self, now: float) -> Iterator[Backlog]:
        """Excludes other writers, and recovers the writes of a process that died."""
        with _locked(self._lock):
            backlog = recover(self._context, now)
            self._context.new_displaced.clear()
            yield backlog

    def _carry_out_in_order(
        self, write: PendingWrite, merge: Merge, now: float, backlog: Backlog
    ) -> PendingWrite:
        """Carries out a write after the earlier writes to the same note; waits while they wait.

        A later write that overtakes an earlier one would be undone by it.
        """
        # Fault: a later write that overtakes an earlier one would be undone by it.
        if any(earlier.path == write.path for earlier in backlog.in_phase("pending")):
            self._retry_pending(now, write.path)
            for earlier in self.pending():
                if earlier.path == write.path:
                    return self._context.postpone(write, earlier.reason)
        return carry_out(self._context, write, merge, now)

    def _retry_pending(self, now: float, path: str | None = None) -> list[WriteResult]:
        """Tries waiting writes again, of one note or of all; for each note the oldest first."""
        results = []
        blocked: set[str] = set()
        for write in self.journal.ops("pending"):
            real = real_path(self._context.files, write.path)
            # Fault (A30): a link may lead out of the vault by now. A later write must
            # not overtake an earlier one that still waits.
            if real is None or real in blocked or path not in (None, write.path):
                continue
            write = replace(write, path=real)
            attempted = carry_out(self._context, write, self._merge, now)
            if attempted.phase != "done":
                blocked.add(real)
            elif not attempted.entry:
                results.append(WriteResult.of(attempted))
        return results

    def _poll_displaced(self, now: datetime, displaced: Iterable[DisplacedFile]) -> bool:
        """Looks at displaced files until none is due: merging late text displaces other files.

        Returns whether any was due.
        """
        at = now.timestamp()
        entries = self._watched(displaced)
        # Fault (A5): merging late text displaces another file, and an editor may save
        # into each. A program that saves without a pause must not keep the lock.
        for round_number in range(_ROUNDS):
            due = [entry for entry in entries if _is_due(entry, at)]
            if not due:
                return round_number > 0
            self._context.new_displaced.clear()
            waiting = []
            for entry in due:
                late = poll_displaced(self._context, entry, stamp(now), at)
                if late is None:
                    continue
                late = carry_out(self._context, late, self._merge, at)
                if late.phase != "done":
                    waiting.append(entry)
            entries = self._watched([*waiting, *self._context.new_displaced.values()])
        return True

    def _watched(self, entries: Iterable[DisplacedFile]) -> list[DisplacedFile]:
        purged = self._context.purged
        return [entry for entry in entries if entry.place not in purged]

    def _forget_purged(self) -> None:
        """Syncs the folders of removed files, and then forgets those files.

        Before the sync, a power loss could bring a removed file back.
        """
        folders = {place.rpartition("/")[0] for place in self._context.purged}
        for folder_path in folders:
            try:
                _sync_folder(self._context.files, folder_path)
            except OSError:
                # Fault (C57): the disk may be away. The removed files stay in the
                # journal, and the next call tries again.
                continue
            self._context.synced(folder_path)
        self._context.flush()


def _is_due(entry: DisplacedFile, at: float) -> bool:
    # Fault (B50): the clock was set back since the last look. The next one would be far
    # in the future.
    is_beyond_reach = entry.next_look > at + FARTHEST
    return entry.next_look <= at or is_beyond_reach


def _sync_folder(files: Files, path: str) -> None:
    folder = files.open_folder(path)
    try:
        files.fsync(folder)
    finally:
        files.close(folder)


@contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Holds the writers' lock. The system frees it when the process ends, in any way."""
    if path is None:
        yield
        return
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


# --- Clock sanity ---

# Decides whether the clock is trustworthy where data is deleted because of its age. Pure.
#
# A computer that was off for a month and a computer whose clock jumped ahead by a month look the
# same. So after a jump, in either direction, nothing counts as old until the clock ran for a week.

LEAP = 8 * 86400.0
"""Seconds between two readings that raise no doubt"""
BACK = 3600.0
"""Seconds that a clock may be set back without doubt"""
HOLD = 7 * 86400.0
"""Seconds that a clock must run after a jump before it is believed"""


@dataclass(frozen=True, slots=True)
class Clock:
    """The readings of the clock so far, in seconds since 1970."""

    seen: float
    """The last reading"""
    doubted_until: float = float("-inf")

    def looked(self, now: float) -> "Clock":
        """Returns the state after one more reading."""
        # Fault (B50): a computer that was off and a clock that jumped look the same.
        # Nothing counts as old until the clock ran for a week.
        has_leapt = now - self.seen > LEAP
        was_set_back = now < self.seen - BACK
        if has_leapt or was_set_back:
            return Clock(now, now + HOLD)
        return Clock(max(now, self.seen), self.doubted_until)

    @property
    def believed(self) -> bool:
        """Whether an age that this clock computes is true."""
        return self.seen >= self.doubted_until
