"""Writing a note that people may be editing at the same moment, without losing a word of theirs or of ours.

Every write names the revision it was made from. It passes a gate or waits; it is swapped in, and what it displaced
is compared, merged if somebody had saved, and watched while anybody may still write to it. A crash anywhere leaves
the note exactly old or exactly new, and the next start finishes or undoes what had been begun.
"""

import fcntl
import os
import posixpath
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.clock_sanity import Clock
from vault_memory.vault.fs import Files, RealFiles
from vault_memory.vault.snapshots import Snapshots, revision_of
from vault_memory.vault.write.attempt import carry_out
from vault_memory.vault.write.displaced import poll_displaced
from vault_memory.vault.write.journal import (
    By,
    DisplacedFile,
    PendingWrite,
    open_journal,
)
from vault_memory.vault.write.recovery import recover
from vault_memory.vault.write.trash import TrashedNote, empty, take_out, thrown
from vault_memory.vault.write.wait_reasons import WORDS
from vault_memory.vault.write.write_context import Barred, Merge, WriteContext, never

if TYPE_CHECKING:
    from vault_memory.vault.write import purge
    from vault_memory.vault.write.purge import Erased, Eraser
else:
    purge = lazy_module("vault_memory.vault.write.purge")

LOCK = "write.lock"
CLOCK = "clock"
FARTHEST = 120.0
"""Seconds ahead in which the next look at a displaced file always lies"""
_LINKS = 8
_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What became of a write."""

    op_id: str
    path: str
    """The note that was written: where a link leads."""
    outcome: Literal["written", "merged", "copied", "unchanged", "trashed", "pending"]
    reason: str
    """Why it waits, in one word; "" when it does not."""
    before: str | None
    """Revision that was replaced."""
    after: str | None
    """Revision that was put there; somebody may have saved since."""

    @property
    def explanation(self) -> str:
        """Why it waits, for a person."""
        return WORDS.get(self.reason, self.reason)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def of(cls, op: PendingWrite) -> "WriteResult":
        """The state of an op."""
        outcome = op.outcome or "unchanged" if op.phase == "done" else "pending"
        return cls(op.op_id, op.path, outcome, op.reason, op.expected, op.after)


class Writer:
    """All writes to one vault. Several processes may have one each; they take turns."""

    def __init__(
        self, means: WriteContext, merge: Merge, *, lock: Path | None = None
    ) -> None:
        self._means, self._merge = means, merge
        self._lock = lock
        self.snapshots, self.journal = means.snapshots, means.journal

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
        """For the vault at ``root``, with its journal in ``state``; ``merge`` serves what was left waiting too."""
        journal = open_journal(state)
        snapshots = Snapshots(journal)
        means = WriteContext(
            files or RealFiles(root),
            journal,
            snapshots,
            lambda: secrets.token_hex(8),
            barred,
        )
        return cls(means, merge, lock=state / LOCK)

    def write(
        self,
        path: str,
        content: bytes,
        *,
        expected: str | None,
        now: datetime,
        op_id: str,
        merge: Merge | None = None,
        quiet: float = 0.3,
        record: bytes = b"",
        by: By = "bot",
    ) -> WriteResult:
        """Put ``content``, made from the revision ``expected`` (None: a new note), under the note's name.

        Where the note is another by now, ``merge`` makes the text. ``record`` is handed back by `finished` until it
        is acknowledged, also after a crash. The same ``op_id`` again does nothing twice.
        """
        inside(path)
        with self._turn(now.timestamp()):
            if known := self._means.journal.op(op_id):
                return WriteResult.of(known)
            op = PendingWrite(
                op_id,
                path,
                "ours",
                expected,
                revision_of(content),
                now.timestamp(),
                f"{now:%Y-%m-%d %H%M%S}",
                quiet,
                record,
                by=by,
            )
            self._means.stage_content(op_id, content)
            real = real_path(self._means.files, path)
            if real is None:
                return WriteResult.of(self._means.postpone(op, "outside"))
            self._settle(now)
            op = self._in_order(
                replace(op, path=real), merge or self._merge, now.timestamp()
            )
            self._settle(now)
        return WriteResult.of(op)

    def trash(
        self,
        path: str,
        *,
        expected: str,
        now: datetime,
        op_id: str,
        record: bytes = b"",
    ) -> WriteResult:
        """Move the note out of the vault, if it still has this revision; an edit beats a deletion."""
        inside(path)
        stamp = f"{now:%Y-%m-%d %H%M%S}"
        with self._turn(now.timestamp()):
            if known := self._means.journal.op(op_id):
                return WriteResult.of(known)
            op = PendingWrite(
                op_id, path, "ours", expected, "", now.timestamp(), stamp, record=record
            )
            op = self._in_order(op, self._merge, now.timestamp())
            self._settle(now)
        return WriteResult.of(op)

    def is_ours(self, path: str, revision: str) -> bool:
        """Whether this version of a note was put there by a write, and not by a person; also while that goes on."""
        head = self.snapshots.head(path)
        if head is not None and head.revision == revision:
            return head.by == "bot"
        return any(
            op.path == path and op.fresh == revision
            for op in self._means.journal.ops("planned")
        )

    def thrown(self) -> list[TrashedNote]:
        """What lies in the trash, the newest first."""
        return thrown(self._means)

    def untrash(self, thrown_id: str, *, now: datetime, op_id: str) -> WriteResult:
        """Put a note back; where another stands there by now, beside it. KeyError when it is not in the trash."""
        one = {each.id: each for each in self.thrown()}[thrown_id]
        raw = self.snapshots.bytes_of(one.revision) or b""
        done = self.write(
            one.path, raw, expected=None, now=now, op_id=op_id, merge=lambda *_: None
        )
        if done.outcome != "pending":
            take_out(self._means, one)
        return done

    def erase(
        self, eraser: "Eraser", now: datetime, *, dry_run: bool = False
    ) -> "Erased":
        """Take a text out of all that is kept outside the vault, or only tell where it stands."""
        if dry_run:
            found = purge.look_through(self._means.journal, eraser)
            found.names = purge.names_kept(self._means, eraser)
            return found
        with self._turn(now.timestamp()):
            self._settle(now)
            return purge.erase(self._means, eraser)

    def prune(self, now: datetime) -> int:
        """Let go of old versions and old trash; returns how many versions went. Nothing, if the clock is in doubt."""
        clock = self._clock(now)
        with self.journal.transaction():
            self.journal.set_state(CLOCK, f"{clock.seen} {clock.doubted_until}")
        if not clock.believed:
            return 0
        empty(self._means, now.timestamp())
        return self.snapshots.prune(now.timestamp())

    def clock_is_trustworthy(self, now: datetime) -> bool:
        """Whether the clock can be trusted as to the age of things."""
        return self._clock(now).believed

    def _clock(self, now: datetime) -> Clock:
        kept = self.journal.state(CLOCK)
        seen, doubted_until = (
            map(float, kept.split())
            if kept
            else (self.snapshots.newest(), float("-inf"))
        )
        return Clock(now.timestamp() if seen is None else seen, doubted_until).looked(
            now.timestamp()
        )

    def tend(self, now: datetime) -> list[WriteResult]:
        """What is due: writes that wait, displaced files. Returns the waiting writes that are now done."""
        with self._turn(now.timestamp()):
            done = self._fold(now.timestamp())
            self._settle(now)
            self._drop_purged()
        return done

    def pending(self) -> list[PendingWrite]:
        """The writes that wait, each with its reason; `content` gives their texts."""
        return [op for op in self._means.journal.ops("pending") if not op.entry]

    def content(self, op: PendingWrite) -> bytes:
        """The whole text that a write was to put there."""
        return self._means.content(op)

    def discard(self, op_id: str) -> None:
        """Give up a write that waits."""
        op = self._means.journal.op(op_id)
        if op is not None and op.phase == "pending":
            with self._means.journal.transaction():
                self._means.journal.remove(op_id)

    def finished(self) -> list[PendingWrite]:
        """Writes that are done and whose records are not yet acknowledged, the oldest first."""
        return [
            op
            for op in self._means.journal.ops("done")
            if op.op_id not in self._means.acknowledged
        ]

    def acknowledge(self, op_ids: Iterable[str], note: str = "") -> None:
        """The records of these writes are safe in the note's audit; after a crash they may be handed back once more."""
        self._means.acknowledged.update(dict.fromkeys(op_ids, note))

    def recovered(self, now: datetime) -> list[PendingWrite]:
        """The writes that wait, after what a crash cut short was finished or undone."""
        with self._turn(now.timestamp()):
            return self.pending()

    def begun(self) -> list[PendingWrite]:
        """Writes that were cut short, and are not finished or undone yet; what stands in their notes may be ours."""
        return self._means.journal.ops("planned")

    def recover_interrupted(self, now: datetime) -> None:
        """What a crash cut short is finished or undone; the lock is asked for only where something was begun."""
        if self.begun():
            self.recovered(now)

    def displaced(self) -> list[DisplacedFile]:
        """The files that are still watched."""
        return [
            entry
            for entry in self._means.journal.displaced()
            if entry.place not in self._means.purged
        ]

    def is_due(self, at: float) -> bool:
        """Whether `tend` has a displaced file to look at."""
        return any(_is_due(entry, at) for entry in self.displaced())

    def close(self) -> None:
        """Let go of the journal; what is watched is watched again by the next who opens it."""
        if self._means.acknowledged:
            self._means.flush()
        self._means.journal.close()

    @contextmanager
    def _turn(self, now: float) -> Iterator[None]:
        """Nobody else writes meanwhile; what one who died had begun is finished or undone first."""
        with _locked(self._lock):
            recover(self._means, now)
            yield

    def _in_order(self, op: PendingWrite, merge: Merge, now: float) -> PendingWrite:
        """Carry out a write after those that already wait for the same note; while they wait, so does it."""
        self._fold(now, op.path)
        for earlier in self.pending():
            if earlier.path == op.path:
                return self._means.postpone(op, earlier.reason)
        return carry_out(self._means, op, merge, now)

    def _fold(self, now: float, path: str | None = None) -> list[WriteResult]:
        """Try again what waits, of one note or of all; of several writes to one note the oldest comes first."""
        done = []
        held: set[str] = set()
        for op in self._means.journal.ops("pending"):
            real = real_path(self._means.files, op.path)
            if real is None or real in held or path not in (None, op.path):
                continue
            tried = carry_out(self._means, replace(op, path=real), self._merge, now)
            if tried.phase != "done":
                held.add(real)
            elif not op.entry:
                done.append(WriteResult.of(tried))
        return done

    def _settle(self, now: datetime) -> None:
        """Look at displaced files until none is due; late texts displace others in turn."""
        at = now.timestamp()
        for _ in range(_ROUNDS):
            due = [entry for entry in self.displaced() if _is_due(entry, at)]
            if not due:
                return
            for entry in due:
                late = poll_displaced(self._means, entry, f"{now:%Y-%m-%d %H%M%S}", at)
                if late is not None:
                    carry_out(self._means, late, self._merge, at)

    def _drop_purged(self) -> None:
        """Make certain that what was taken away stays away, and forget it."""
        files = self._means.files
        for folder_path in {place.rpartition("/")[0] for place in self._means.purged}:
            try:
                folder = files.open_folder(folder_path)
                try:
                    files.fsync(folder)
                finally:
                    files.close(folder)
            except OSError:
                continue
            self._means.synced(folder_path)
        self._means.flush()


def _is_due(entry: DisplacedFile, at: float) -> bool:
    """Also when the clock was set back since the last look."""
    return entry.next_look <= at or entry.next_look > at + FARTHEST


def real_path(files: Files, path: str) -> str | None:
    """Where a note's link leads, within the vault; None when it leads out."""
    for _ in range(_LINKS):
        folder_path, _, name = path.rpartition("/")
        target = _link(files, folder_path, name)
        if target is None:
            return path
        if target.startswith("/"):
            target = posixpath.relpath(target, posixpath.join(files.root, folder_path))
        path = posixpath.normpath(posixpath.join(folder_path, target))
        if path == ".." or path.startswith("../"):
            return None
    return None


def _link(files: Files, folder_path: str, name: str) -> str | None:
    try:
        folder = files.open_folder(folder_path)
    except OSError:
        return None
    try:
        found = files.look(folder, name)
        return (
            files.link_target(folder, name)
            if found is not None and found.is_link
            else None
        )
    except OSError:
        return None
    finally:
        files.close(folder)


@contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """The writer's lock, which the system frees when a process ends, however it ends."""
    if path is None:
        yield
        return
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
