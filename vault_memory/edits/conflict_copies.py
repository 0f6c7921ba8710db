"""Conflict copies, of sync programs and our own: found beside their notes, shown, merged, and only then thrown away.

What a copy says is merged into its note as any change is: on what somebody saves meanwhile, recorded, and undoable. The
copy goes to the trash after that stands on the disk, and only as the very bytes that were merged. A crash between the
two leaves a copy of which the note has everything, and the next look throws that away.
"""

import logging
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vault_memory.edits.commands import MergeCopy, RestoreVersion
from vault_memory.edits.conflict_copy import ConflictCopy, Outcome, Resolved
from vault_memory.edits.copy_verdicts import Verdicts
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.edits.plans.copy_ancestors import lines_of
from vault_memory.edits.plans.merge_copy import Folded, fold, fold_log, merged_text
from vault_memory.errors import (
    NoteNotFound,
    NoteUnreadable,
    UsageError,
    VaultMemoryError,
)
from vault_memory.lazy import lazy_module
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.paths.conflict_names import (
    CopyName,
    copy_of,
    named_copies,
    original_path,
)
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.jsonl_log import append_record, read_records
from vault_memory.vault.reader import LARGEST_PARSED, LARGEST_STORED, Folder, Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.preconditions import editor_locks

if TYPE_CHECKING:
    from vault_memory.edits import note_access
    from vault_memory.edits.editor import NoteEditor
else:
    note_access = lazy_module("vault_memory.edits.note_access")

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 3.0
"""For which a copy and its note must have been left alone before anything is done about them unasked"""
ASKED = frozenset({"persona"})
"""Kinds of notes into which nothing is merged unasked"""
LOCK_SECONDS = 600.0
"""For which an editor's lock is heeded, if nothing is done to it: its editor may have died"""
CLOCK_TICK_SECONDS = 0.01
"""By which a file's times may lie behind the clock: kernels stamp files with the time of their last tick"""
CONFLICTS = "`vault-memory conflicts` lists them with their ids"
_WRITTEN = ("written", "merged", "unchanged")


@dataclass(frozen=True, slots=True)
class _Resolution:
    """How a copy is resolved by writing its note."""

    action: MergeCopy | RestoreVersion
    outcome: Outcome
    source: str = "cli"
    patient: bool = True
    """waits a moment for a note that is in use"""


class Conflicts:
    """The conflict copies of one vault."""

    def __init__(self, curator: "NoteEditor", folder: Folder, layout: Layout) -> None:
        self._curator, self._folder, self._layout = curator, folder, layout
        self._judged: dict[str, tuple[int, str]] = {}
        """copies that a person has to look at: their times, and the revisions of their notes"""

    def found(self) -> list[ConflictCopy]:
        """All copies, by note and the oldest first; those that only a number tells too, where their texts are alike."""
        listing = self._folder.listing()
        named = [
            *named_copies(listing.copies, self._layout.place),
            *self._guessed(listing.entries),
        ]
        copies = [
            copy for path, name in named if (copy := self._look(path, name)) is not None
        ]
        return sorted(copies, key=lambda copy: (copy.note, copy.date, copy.path))

    def find(self, given: str) -> ConflictCopy:
        """The one copy whose id begins so. Raises UnclearId."""
        copies = {copy.id: copy for copy in self.found()}
        named = resolve(given, copies)
        if not named.id:
            raise UnclearId("conflict copy", given, named.candidates, CONFLICTS)
        return copies[named.id]

    def settle(
        self, now: datetime, among: Iterable[str] | None = None
    ) -> list[Resolved]:
        """Do what needs nobody: throw away what says nothing new, and merge what merges cleanly, the oldest first.

        `among` are the paths of copies that are known already; else the vault is searched for them.
        """
        self._curator.tend(now)
        done = []
        paths = self._folder.listing().copies if among is None else among
        named = named_copies(paths, self._layout.place)
        for path, name in sorted(named, key=lambda one: (one[1].stamp, one[0])):
            try:
                if (resolved := self._settled(path, name, now)) is not None:
                    logger.info("the conflict copy %s: %s", path, resolved.outcome)
                    done.append(resolved)
            except (VaultMemoryError, OSError) as error:
                logger.warning("the conflict copy %s stays for now: %s", path, error)
        return done

    def again(self, copy: ConflictCopy) -> ConflictCopy | None:
        """The same copy as it stands now; None when it is gone."""
        known = copy_of(copy.path.rpartition("/")[2], {copy.note.rpartition("/")[2]})
        return self._look(copy.path, known) if known else None

    def merge(
        self,
        copy: ConflictCopy,
        now: datetime,
        *,
        both: bool = False,
        source: str = "cli",
        patient: bool = True,
    ) -> Resolved:
        """Merge a copy into its note and throw it away; `both` keeps both lines where both changed one, with a mark."""
        if copy.state in ("identical", "contained"):
            return self.discard(copy, now)
        if copy.state == "orphan" or (
            copy.state == "conflict" and not (both and copy.folded.result)
        ):
            return Resolved(copy, "conflict", copy.why)
        if copy.note.endswith(".jsonl"):
            for record in read_records(copy.folded.result or b"").records:
                append_record(self._folder.root, copy.note, record)
            return self._thrown(copy, "merged", now)
        self._keep(copy, now)
        action = MergeCopy(
            copy.path, copy.revision, copy.folded.base, copy.date[:10], keep_both=both
        )
        resolution = _Resolution(action, "merged", source, patient)
        return self._write_and_throw_away(copy, resolution, now)

    def take(self, copy: ConflictCopy, now: datetime) -> Resolved:
        """Let the copy's text be the note's; what stood there is kept as a version."""
        if copy.note.endswith(".jsonl") and copy.there is not None:
            raise UsageError(
                f"`{copy.note}` is a log: nothing is taken out of it",
                hint="merge the copy, or discard it",
            )
        if not copy.revision:
            return Resolved(copy, "conflict", copy.why)
        self._keep(copy, now)
        action = RestoreVersion(copy.revision)
        resolution = _Resolution(action, "taken")
        return self._write_and_throw_away(copy, resolution, now)

    def discard(self, copy: ConflictCopy, now: datetime) -> Resolved:
        """Throw a copy away as it is; it lies in the trash for a while."""
        return self._thrown(copy, "discarded", now)

    def _write_and_throw_away(
        self, copy: ConflictCopy, resolution: "_Resolution", now: datetime
    ) -> Resolved:
        """Write the note, then throw the copy away."""
        if copy.kind not in note_access.CURATED:
            reason = self._written(copy, now, resolution.action)
            return (
                Resolved(copy, "pending", reason)
                if reason
                else self._thrown(copy, resolution.outcome, now)
            )
        why = f"from `{copy.path.rpartition('/')[2]}`"
        run = self._curator.new_command(
            copy.note, resolution.source, now, resolution.action, why=why
        )
        edit = self._curator.run(run, now, patient=resolution.patient)
        if edit.pending:
            return Resolved(copy, "pending", edit.pending[0].explanation, edit)
        if any(done.outcome == "noop_no_match" for done in edit.applied):
            return Resolved(
                copy,
                "conflict",
                "the note was changed meanwhile, and both changed the same",
                edit,
            )
        return replace(self._thrown(copy, resolution.outcome, now), edit=edit)

    def _written(
        self, copy: ConflictCopy, now: datetime, action: MergeCopy | RestoreVersion
    ) -> str:
        """Write a page that no op changes, and of which there is no audit; why that has to wait, or nothing."""
        is_merge = isinstance(action, MergeCopy)
        base = self._curator.writer.snapshots.bytes_of(copy.folded.base)
        declined = []

        def again(_: bytes | None, ours: bytes, theirs: bytes) -> bytes:
            text: bytes | None = ours
            if isinstance(action, MergeCopy):
                text = merged_text(
                    theirs, copy.raw, base, action.day, keep_both=action.keep_both
                )
            if text is None:
                declined.append(theirs)
            return theirs if text is None else text

        written = self._curator.writer.write(
            copy.note,
            (copy.folded.result or b"") if is_merge else copy.raw,
            now=now,
            merge=again,
            expected=copy.there.revision if copy.there else None,
            op_id=f"copy-{secrets.token_hex(8)}",
        )
        if written.outcome == "pending":
            return written.explanation
        return (
            ""
            if written.outcome in _WRITTEN and not declined
            else "the note was changed meanwhile"
        )

    def _thrown(self, copy: ConflictCopy, outcome: Outcome, now: datetime) -> Resolved:
        if not copy.revision:
            return Resolved(copy, "conflict", copy.why)
        op_id = f"copy-{secrets.token_hex(8)}"
        thrown = self._curator.writer.trash(
            copy.path, expected=copy.revision, now=now, op_id=op_id
        )
        if thrown.outcome == "trashed":
            return Resolved(copy, outcome)
        if thrown.outcome == "pending":
            return Resolved(copy, "pending", thrown.explanation)
        return Resolved(copy, "changed", "the copy was changed meanwhile, and stays")

    def _keep(self, copy: ConflictCopy, now: datetime) -> None:
        """Whoever finishes the run after a crash needs the copy's text."""
        self._curator.writer.snapshots.record(copy.path, copy.raw, at=now.timestamp())

    def _settled(self, path: str, name: CopyName, now: datetime) -> Resolved | None:
        """What was done about one copy unasked; None when nothing was."""
        note = original_path(path, name)
        before = self._stamp_of(path, note)
        if (
            before is None
            or self._judged.get(path) == before
            or self._in_use(now, path, note)
        ):
            return None
        copy = self._look(path, name)
        if copy is None or copy.state == "orphan":
            return None
        if not self._has_settled(copy, now) or any(
            one.note == note for one in self._curator.waiting()
        ):
            return None
        mergeable = (
            copy.state == "mergeable" and copy.folded.certain and copy.kind not in ASKED
        )
        certain = mergeable or copy.state in ("identical", "contained")
        resolved = (
            self.merge(copy, now, source="merge", patient=False)
            if certain and name.kind == "conflict"
            else None
        )
        if resolved is None or resolved.outcome == "conflict":
            self._judged[path] = before
        return resolved

    def _has_settled(self, copy: ConflictCopy, now: datetime) -> bool:
        """Whether both were left alone for a while; our own writes do not count."""
        there = copy.there
        ours = there is None or self._curator.writer.is_ours(there.path, there.revision)
        last = (
            copy.changed_ns
            if there is None or ours
            else max(copy.changed_ns, there.stat.ctime_ns)
        )
        return not 0 <= now.timestamp() - last / 1e9 < SETTLED_SECONDS

    def _stamp_of(self, path: str, note: str) -> tuple[int, str] | None:
        """Changes whenever the copy or its note does."""
        try:
            copy, there = (
                self._folder.stat(path),
                self._folder.stat(self._curator.real(note)),
            )
        except VaultMemoryError:
            return None
        return copy and (copy.ctime_ns, repr(there))

    def _in_use(self, now: datetime, *paths: str) -> bool:
        """Whether an editor says that it has one of these open."""
        for path in paths:
            for lock in editor_locks(path.rpartition("/")[2]):
                with suppress(OSError):
                    seen = os.lstat(
                        os.path.join(self._folder.root, os.path.dirname(path), lock)
                    )
                    if now.timestamp() - seen.st_mtime < LOCK_SECONDS:
                        return True
        return False

    def _guessed(self, paths: Iterable[str]) -> Iterator[tuple[str, CopyName]]:
        folders: dict[str, set[str]] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, set()).add(name)
        for folder, names in folders.items():
            for file in names:
                path, guess = (
                    f"{folder}/{file}" if folder else file,
                    copy_of(file, names),
                )
                if (
                    guess is not None
                    and self._layout.place(original_path(path, guess)) is not None
                ):
                    yield path, guess

    def _look(self, path: str, name: CopyName) -> ConflictCopy | None:
        """One copy with what it would make with its note; None when it is gone, or is no copy after all."""
        note = original_path(path, name)
        place = self._layout.place(note)
        if place is None:
            return None
        blank = ConflictCopy(
            _id(path, ""),
            note,
            path,
            name.program,
            name.stamp,
            place.kind,
            place.scope,
            "",
            "conflict",
            "",
            name.kind == "conflict",
        )
        try:
            copy = self._folder.read(path, max_bytes=LARGEST_STORED)
            there = self._note(note)
        except NoteNotFound:
            return None
        except NoteUnreadable as error:
            return replace(blank, why=error.message)
        made = (
            name.stamp
            or f"{datetime.fromtimestamp(copy.stat.mtime_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}"
        )
        copied = replace(
            blank,
            id=_id(path, copy.revision),
            date=made,
            revision=copy.revision,
            there=there,
            raw=copy.raw,
            changed_ns=copy.stat.ctime_ns,
        )
        if there is None:
            return replace(copied, state="orphan", why="the note is not there")
        folded = self._fold(there, copy, name, made)
        if folded.result is not None and self._was_merged(note, copy.revision):
            folded = Folded("contained", why="it was merged before")
        if name.kind == "guess" and not _one_is_of_the_other(
            folded, there.raw, copy.raw
        ):
            return None
        return replace(copied, folded=folded, state=folded.state, why=folded.why)

    def _fold(self, note: Note, copy: Note, name: CopyName, made: str) -> Folded:
        if note.path.endswith(".jsonl"):
            return fold_log(note.raw, copy.raw)
        if max(len(note.raw), len(copy.raw)) > LARGEST_PARSED and note.raw != copy.raw:
            return Folded(
                "conflict",
                why=f"it is larger than the {LARGEST_PARSED:,} bytes that are merged",
            )
        snapshots = self._curator.writer.snapshots
        # A version that was saved after the copy came is no ancestor of it. A time in the future proves nothing.
        # Without the tick, a version that was kept just before a rename would count as saved after it.
        came, now = copy.stat.ctime_ns / 1e9 + CLOCK_TICK_SECONDS, time.time()
        chain = [
            version
            for version in snapshots.chain(note.path)
            if not came < version.at <= now
        ]
        versions = (
            (one.revision, raw)
            for one in chain
            if (raw := snapshots.bytes_of(one.revision)) is not None
        )
        place = self._layout.place(note.path)
        is_page = place is not None and place.kind == "inbox"
        folded = fold(
            note.raw, copy.raw, versions, day=made[:10], is_page_of_ours=is_page
        )
        return (
            self._as_called_before(note, copy, folded)
            if name.kind == "conflict"
            else folded
        )

    def _as_called_before(self, note: Note, copy: Note, folded: Folded) -> Folded:
        """The verdict on a copy, which stays a conflict until a person acts."""
        verdicts = Verdicts(self._curator.writer)
        if folded.state == "conflict":
            verdicts.call_conflict(note.path, copy.revision, datetime.now(UTC))
            return folded
        if folded.state == "identical" or not verdicts.is_conflict(
            note.path, copy.revision
        ):
            return folded
        # Somebody wrote into the note what the copy says, or changed another line: only the first settles it.
        if folded.state == "contained" and not lines_of(copy.raw) - lines_of(note.raw):
            return folded
        return replace(
            folded,
            state="conflict",
            why="both changed the same place, and nobody has settled that yet",
        )

    def _was_merged(self, note: str, revision: str) -> bool:
        """Whether the audit has it that these very bytes were merged, and not that this was taken back."""
        records = self._curator.trail.of(note)
        undone = {record.undoes for record in records}
        return any(
            done.op.get("op") == "merge"
            and done.op.get("revision") == revision
            and done.outcome != "noop_no_match"
            for record in records
            if record.id not in undone
            for done in record.applied
        )

    def _note(self, path: str) -> Note | None:
        try:
            return self._folder.read(self._curator.real(path), max_bytes=LARGEST_STORED)
        except NoteNotFound:
            return None


def _id(path: str, revision: str) -> str:
    return revision_of(f"{path}\0{revision}".encode())[:10]


def _one_is_of_the_other(folded: Folded, note: bytes, copy: bytes) -> bool:
    """Whether two texts are so much alike that one must have been made from the other."""
    if folded.state in ("identical", "contained"):
        return True
    mine, its = set(note.splitlines()), set(copy.splitlines())
    return 2 * len(mine & its) >= max(len(mine), len(its))
