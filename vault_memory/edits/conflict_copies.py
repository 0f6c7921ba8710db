"""Conflict copies, of sync programs and of our own sync: finds them beside their notes, shows, merges, removes them.

The text of a copy is merged into its note like any edit: on top of what a person saves meanwhile, recorded, undoable.
The copy goes to the trash after the note is on the disk, and only while it has the bytes that were merged. After a crash
between the two the note contains everything, and the next look moves the copy to the trash.
"""

import logging
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vault_memory.edits import note_access
from vault_memory.edits.audit_log import only_match
from vault_memory.edits.commands import MergeCopy, RestoreVersion, RunOptions, SaveText
from vault_memory.edits.conflict_copy import ConflictCopy, Outcome, ResolvedConflict, Verdicts
from vault_memory.edits.plans.copy_ancestors import lines_of
from vault_memory.edits.plans.copy_places import PlaceChoice, decisions_on
from vault_memory.edits.plans.merge_copy import MergedCopy, fold, fold_log, merged_text
from vault_memory.errors import NoteNotFound, NoteUnreadable, UsageError, VaultMemoryError
from vault_memory.rules.edits.skipped_duplicates import undone_ids
from vault_memory.rules.edits.text_edits import why_not_editable
from vault_memory.rules.paths.conflict_names import CopyName, copy_of, named_copies, original_path
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.jsonl_log import append_record, read_records
from vault_memory.vault.reader import LARGEST_PARSED, LARGEST_STORED, Folder, Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.preconditions import editor_locks
from vault_memory.vault.write.replacement import Replacement

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 3.0
"""A copy and its note must be unchanged for this long before they are merged without a person"""
NEVER_WITHOUT_PERSON = frozenset({"persona"})
"""Kinds of notes into which copies are merged only when a person asks for it"""
LOCK_SECONDS = 600.0
"""An older lock of an editor does not count: the editor may have died"""
CLOCK_TICK_SECONDS = 0.01
"""How far the times of a file may be behind the clock: kernels stamp files with the time of their last tick"""
CONFLICTS = "`vault-memory conflicts` lists them with their ids"
_WRITTEN = ("written", "merged", "unchanged")
_Stamp = tuple[int, str]
"""Change time of a copy, and the state of its note"""


class Conflicts:
    """Finds and resolves the conflict copies of one vault."""

    def __init__(self, editor: "NoteEditor", folder: Folder, layout: Layout) -> None:
        self._editor = editor
        self._folder = folder
        self._layout = layout
        self._left_to_person: dict[str, _Stamp] = {}
        """copies that a person has to resolve, by path"""

    def list_all(self) -> list[ConflictCopy]:
        """Returns all copies, by note, the oldest first.

        A file that differs from a note only by a number in its name counts if the texts are alike.
        """
        listing = self._folder.listing()
        names = [
            *named_copies(listing.copies, self._layout.place),
            *self._numbered_files(listing.entries),
        ]
        copies = (self._inspect(path, name) for path, name in names)
        return sorted(
            (copy for copy in copies if copy is not None),
            key=lambda copy: (copy.note, copy.date, copy.path),
        )

    def settle(self, now: datetime, among: Iterable[str] | None = None) -> list[ResolvedConflict]:
        """Resolves the copies that need no person, the oldest first: those without new text, and clean merges.

        `among` are the paths of known copies; by default the vault is searched for them.
        """
        self._editor.tend(now)
        paths = self._folder.listing().copies if among is None else among
        names = named_copies(paths, self._layout.place)
        results = []
        for path, name in sorted(names, key=lambda entry: (entry[1].stamp, entry[0])):
            try:
                resolved = self._settle_copy(path, name, now)
            except (VaultMemoryError, OSError) as error:
                # Fault (D71): one unreadable copy must not stop the others.
                logger.warning("the conflict copy %s stays for now: %s", path, error)
                continue
            if resolved is not None:
                logger.info("the conflict copy %s: %s", path, resolved.outcome)
                results.append(resolved)
        return results

    def read_again(self, copy: ConflictCopy) -> ConflictCopy | None:
        """Returns the copy as it is now; None when it is gone."""
        return self._inspect(copy.path, copy.name)

    def merge(
        self, copy: ConflictCopy, now: datetime, *, both: bool = False, source: str = "cli"
    ) -> ResolvedConflict:
        """Merges a copy into its note, and moves it to the trash.

        Where both changed one line, `both` keeps the two lines, that of the copy with a mark.
        """
        if copy.state in ("identical", "contained"):
            return self.discard(copy, now)
        can_merge = both and copy.folded.result
        if copy.state == "orphan" or (copy.state == "conflict" and not can_merge):
            return ResolvedConflict(copy, "conflict", copy.why)
        if copy.note.endswith(".jsonl"):
            for record in read_records(copy.folded.result or b"").records:
                append_record(self._folder.root, copy.note, record)
            return self._move_to_trash(copy, "merged", now)
        self._store_text(copy, now)
        action = MergeCopy(
            copy.path, copy.revision, copy.folded.base, copy.date[:10], keep_both=both
        )
        return self._write_and_trash(copy, action, "merged", now, source)

    def take(self, copy: ConflictCopy, now: datetime) -> ResolvedConflict:
        """Replaces the text of the note by that of the copy; the replaced text stays in the history."""
        if copy.note.endswith(".jsonl") and copy.current is not None:
            raise UsageError(
                f"`{copy.note}` is a log: none of its records may be removed",
                hint="merge the copy, or discard it",
            )
        if not copy.revision:
            return ResolvedConflict(copy, "conflict", copy.why)
        self._store_text(copy, now)
        return self._write_and_trash(copy, RestoreVersion(copy.revision), "taken", now)

    def discard(self, copy: ConflictCopy, now: datetime) -> ResolvedConflict:
        """Moves a copy to the trash as it is."""
        return self._move_to_trash(copy, "discarded", now)

    def settle_place(
        self, copy: ConflictCopy, place_id: str, choice: PlaceChoice, now: datetime
    ) -> ResolvedConflict:
        """Decides one place; after the last one the copy goes to the trash. Raises UnclearId, UsageError."""
        places = {place.id: place for place in copy.places}
        place = only_match("open place", place_id, places, CONFLICTS)
        if choice == "both" and not place.can_keep_both:
            raise UsageError("both texts cannot stay here", hint="choose one of them")
        begun = copy.decisions
        if not begun.choices:
            self._editor.writer.snapshots.record_all(
                [(copy.path, raw) for raw in begun[:2]], at=now.timestamp()
            )
        Verdicts(self._editor.writer).call_conflict(copy.note, copy.revision, now)
        decided = begun._replace(choices={**begun.choices, place.id: choice})
        before, after = begun.texts()[0].decode(), decided.texts()[0].decode()
        action = SaveText(after, before, begun.op(place.id, choice, copy.revision))
        outcome: Outcome = "merged" if len(places) == 1 else "settled"
        return self._write_and_trash(copy, action, outcome, now)

    # ---- resolving ----------------------------------------------------------------------------

    def _write_and_trash(
        self,
        copy: ConflictCopy,
        action: MergeCopy | RestoreVersion | SaveText,
        outcome: Outcome,
        now: datetime,
        source: str = "cli",
    ) -> ResolvedConflict:
        """Writes the note; only then moves the copy to the trash, unless it is `settled`."""
        if copy.kind not in note_access.CURATED:
            reason = self._write_page(copy, now, action)
            if reason:
                return ResolvedConflict(copy, "pending", reason)
            return self._move_to_trash(copy, outcome, now)
        why = f"from `{copy.path.rpartition('/')[2]}`"
        command = self._editor.new_command(copy.note, source, now, action, why=why)
        # A person waits a moment for a note that is in use.
        edit = self._editor.run(command, now, RunOptions(patient=source == "cli"))
        if edit.pending:
            return ResolvedConflict(copy, "pending", edit.pending[0].explanation, edit)
        if any(op.outcome == "noop_no_match" for op in edit.applied):
            why = "the note was changed meanwhile, and both changed the same"
            return ResolvedConflict(copy, "conflict", why, edit)
        if outcome == "settled":
            return ResolvedConflict(copy, "settled", edit=edit)
        return replace(self._move_to_trash(copy, outcome, now), edit=edit)

    def _write_page(
        self, copy: ConflictCopy, now: datetime, action: MergeCopy | RestoreVersion | SaveText
    ) -> str:
        """Writes a page that ops never change and that has no audit log. Returns why it waits, or an empty string."""
        writer = self._editor.writer
        base = writer.snapshots.bytes_of(copy.folded.base)
        is_declined = False

        def merge_again(_: bytes | None, ours: bytes, theirs: bytes) -> bytes:
            """Plans the action on the text that a person saved meanwhile."""
            nonlocal is_declined
            if not isinstance(action, MergeCopy):
                return ours
            text = merged_text(theirs, copy.raw, base, action.day, keep_both=action.keep_both)
            is_declined = is_declined or text is None
            return theirs if text is None else text

        is_merge = isinstance(action, MergeCopy)
        new = Replacement(
            copy.note,
            (copy.folded.result or b"") if is_merge else copy.raw,
            expected=copy.current.revision if copy.current else None,
            op_id=f"copy-{secrets.token_hex(8)}",
        )
        result = writer.write(new, now=now, merge=merge_again)
        if result.outcome == "pending":
            return result.explanation
        if result.outcome not in _WRITTEN or is_declined:
            return "the note was changed meanwhile"
        return ""

    def _move_to_trash(
        self, copy: ConflictCopy, outcome: Outcome, now: datetime
    ) -> ResolvedConflict:
        """Moves a copy to the trash if it still has the bytes that were read."""
        if not copy.revision:
            return ResolvedConflict(copy, "conflict", copy.why)
        op_id = f"copy-{secrets.token_hex(8)}"
        result = self._editor.writer.trash(copy.path, expected=copy.revision, now=now, op_id=op_id)
        match result.outcome:
            case "trashed":
                return ResolvedConflict(copy, outcome)
            case "pending":
                return ResolvedConflict(copy, "pending", result.explanation)
            case _:
                why = "the copy was changed meanwhile, and stays"
                return ResolvedConflict(copy, "changed", why)

    def _store_text(self, copy: ConflictCopy, now: datetime) -> None:
        """Stores the text of the copy: after a crash the command is planned again from it."""
        self._editor.writer.snapshots.record(copy.path, copy.raw, at=now.timestamp())

    # ---- without a person ---------------------------------------------------------------------

    def _settle_copy(self, path: str, name: CopyName, now: datetime) -> ResolvedConflict | None:
        """Resolves one copy if that needs no person; None when it stays."""
        note = original_path(path, name)
        stamp = self._stamp_of(path, note)
        if stamp is None or self._left_to_person.get(path) == stamp:
            return None
        if self._is_open_in_editor(now, path, note):
            return None
        copy = self._inspect(path, name)
        if copy is None or copy.state == "orphan":
            return None
        has_pending_write = any(write.note == note for write in self._editor.waiting())
        if has_pending_write or not self._was_left_alone(copy, now):
            return None
        resolved = None
        if name.kind == "conflict" and _needs_no_person(copy):
            resolved = self.merge(copy, now, source="merge")
        if resolved is None or resolved.outcome == "conflict":
            self._left_to_person[path] = stamp
        return resolved

    def _was_left_alone(self, copy: ConflictCopy, now: datetime) -> bool:
        """Whether no other program changed the copy or its note for a while."""
        last_change_ns = copy.changed_ns
        note = copy.current
        if note is not None and not self._editor.writer.is_ours(note.path, note.revision):
            last_change_ns = max(last_change_ns, note.stat.ctime_ns)
        # Fault (B50): a time in the future comes from a clock that was set back. It
        # must not block for ever.
        return not 0 <= now.timestamp() - last_change_ns / 1e9 < SETTLED_SECONDS

    def _stamp_of(self, path: str, note: str) -> _Stamp | None:
        """Returns a value that changes whenever the copy or its note does; None while it is unknown."""
        try:
            copy_stat = self._folder.stat(path)
            note_stat = self._folder.stat(self._editor.real(note))
        except VaultMemoryError:
            return None
        return None if copy_stat is None else (copy_stat.ctime_ns, repr(note_stat))

    def _is_open_in_editor(self, now: datetime, *paths: str) -> bool:
        """Whether an editor's lock says that one of these files is open."""
        for path in paths:
            folder, _, name = path.rpartition("/")
            for lock in editor_locks(name):
                with suppress(OSError):
                    stat = os.lstat(os.path.join(self._folder.root, folder, lock))
                    if now.timestamp() - stat.st_mtime < LOCK_SECONDS:
                        return True
        return False

    # ---- finding ------------------------------------------------------------------------------

    def _numbered_files(self, paths: Iterable[str]) -> Iterator[tuple[str, CopyName]]:
        """Yields files with a number after the name of a note beside them: perhaps copies."""
        names_by_folder: dict[str, set[str]] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            names_by_folder.setdefault(folder, set()).add(name)
        for folder, names in names_by_folder.items():
            for name in names:
                path = f"{folder}/{name}" if folder else name
                copy_name = copy_of(name, names)
                if copy_name is None:
                    continue
                if self._layout.place(original_path(path, copy_name)) is not None:
                    yield path, copy_name

    def _inspect(self, path: str, name: CopyName) -> ConflictCopy | None:
        """Returns a copy with its merge; None when it is gone, or is no copy after all."""
        note_path = original_path(path, name)
        place = self._layout.place(note_path)
        if place is None:
            return None
        unread = ConflictCopy(
            id=_copy_id(path, ""),
            note=note_path,
            path=path,
            name=name,
            program=name.program,
            sure=name.kind == "conflict",
            date=name.stamp,
            kind=place.kind,
            scope=place.scope,
            revision="",
            state="conflict",
            why="",
        )
        try:
            file = self._folder.read(path, max_bytes=LARGEST_STORED)
            note = self._read_note(note_path)
        except NoteNotFound:
            return None
        except NoteUnreadable as error:
            return replace(unread, why=error.message)
        copy = replace(
            unread,
            id=_copy_id(path, file.revision),
            date=name.stamp
            or f"{datetime.fromtimestamp(file.stat.mtime_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}",
            revision=file.revision,
            current=note,
            raw=file.raw,
            changed_ns=file.stat.ctime_ns,
        )
        if note is None:
            return replace(copy, state="orphan", why="the note is not there")
        folded = self._fold(note, file, name, copy.date)
        if name.kind == "guess" and not _are_alike(folded, note.raw, file.raw):
            return None
        copy = replace(copy, folded=folded, state=folded.state, why=folded.why)
        return self._with_decisions(copy) if folded.state in ("mergeable", "conflict") else copy

    def _fold(self, note: Note, copy: Note, name: CopyName, date: str) -> MergedCopy:
        """Returns the merge of a copy with its note."""
        if note.path.endswith(".jsonl"):
            return fold_log(note.raw, copy.raw)
        size = max(len(note.raw), len(copy.raw))
        if size > LARGEST_PARSED and note.raw != copy.raw:
            why = f"it is larger than the {LARGEST_PARSED:,} bytes that are merged"
            return MergedCopy("conflict", why=why)
        place = self._layout.place(note.path)
        folded = fold(
            note.raw,
            copy.raw,
            self._possible_ancestors(note, copy),
            day=date[:10],
            is_page_of_ours=place is not None and place.kind == "inbox",
        )
        if name.kind != "conflict":
            return folded
        return self._with_earlier_verdict(note, copy, folded)

    def _possible_ancestors(self, note: Note, copy: Note) -> Iterator[tuple[str, bytes]]:
        """Yields the stored versions of a note from which its copy may have been made."""
        snapshots = self._editor.writer.snapshots
        # Fault (D70): without the tick, a version that was stored just before a rename
        # would count as saved after it.
        arrival = copy.stat.ctime_ns / 1e9 + CLOCK_TICK_SECONDS
        now = time.time()
        for version in snapshots.chain(note.path):
            # A version that was saved after the copy came is no ancestor. A time in the future proves nothing.
            if arrival < version.at <= now:
                continue
            raw = snapshots.bytes_of(version.revision)
            if raw is not None:
                yield version.revision, raw

    def _with_earlier_verdict(self, note: Note, copy: Note, folded: MergedCopy) -> MergedCopy:
        """Returns the merge of a copy; once it was a conflict, it stays one until a person acts."""
        verdicts = Verdicts(self._editor.writer)
        if folded.state == "conflict":
            verdicts.call_conflict(note.path, copy.revision, datetime.now(UTC))
            return folded
        if folded.state == "identical":
            return folded
        if not verdicts.is_conflict(note.path, copy.revision):
            return folded
        # A person wrote the lines of the copy into the note, or changed another line: only the first settles it.
        has_all_lines = not lines_of(copy.raw) - lines_of(note.raw)
        if folded.state == "contained" and has_all_lines:
            return folded
        why = "both changed the same place, and a person has not decided yet"
        return replace(folded, state="conflict", why=why)

    def _with_decisions(self, copy: ConflictCopy) -> ConflictCopy:
        """Returns a copy with what the audit log says of it; it is contained where nothing is left to decide."""
        records = self._editor.trail.of(copy.note)
        undone = undone_ids(records)
        if any(
            op.op.get("op") == "merge" and op.op.get("revision") == copy.revision
            for record in records
            if record.id not in undone
            for op in record.applied
            if op.outcome != "noop_no_match"
        ):
            return replace(copy, state="contained", why="it was merged before")
        note = copy.current
        if note is None or copy.kind not in note_access.CURATED:
            return copy
        if any(map(why_not_editable, (note.raw, copy.raw))):
            return copy
        bytes_of = self._editor.writer.snapshots.bytes_of
        copy = replace(
            copy, decisions=decisions_on(copy.revision, note.raw, copy.raw, records, bytes_of)
        )
        return copy if copy.places else replace(copy, state="contained", why="all is decided")

    def _read_note(self, path: str) -> Note | None:
        try:
            return self._folder.read(self._editor.real(path), max_bytes=LARGEST_STORED)
        except NoteNotFound:
            return None


def find_copy(copies: Iterable[ConflictCopy], copy_id: str) -> ConflictCopy:
    """Returns the only copy whose id begins so. Raises UnclearId."""
    return only_match("conflict copy", copy_id, {copy.id: copy for copy in copies}, CONFLICTS)


def _needs_no_person(copy: ConflictCopy) -> bool:
    if copy.state in ("identical", "contained"):
        return True
    if copy.kind in NEVER_WITHOUT_PERSON:
        return False
    return copy.state == "mergeable" and copy.folded.certain


def _copy_id(path: str, revision: str) -> str:
    return revision_of(f"{path}\0{revision}".encode())[:10]


def _are_alike(folded: MergedCopy, note: bytes, copy: bytes) -> bool:
    """Whether two texts are so much alike that one must have been made from the other."""
    if folded.state in ("identical", "contained"):
        return True
    note_lines = set(note.splitlines())
    copy_lines = set(copy.splitlines())
    shared = note_lines & copy_lines
    return 2 * len(shared) >= max(len(note_lines), len(copy_lines))
