"""Forgetting: a text goes from every file of the vault that is memory, and from what is kept of their past.

Notes are written as ever: on what a person saves meanwhile, never while somebody works on them, recorded. The record
says when and in which note something was forgotten, and nothing of what that was.
"""

import logging
import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from vault_memory.edits.commands import (
    FORGET,
    ApplyOps,
    ChangeFacts,
    DecideProposals,
    EditAction,
    EditCommand,
    EditText,
    MergeCopy,
    MoveSections,
    RedactText,
    RestoreLines,
    RestoreVersion,
    RetireNote,
    UndoRecord,
)
from vault_memory.edits.editor import (
    PASSING,
    PAUSE_SECONDS,
    QUIET_SECONDS,
    NoteEditor,
)
from vault_memory.edits.note_access import CURATED
from vault_memory.edits.plans.fact_edits import Wish, fact_of
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.rules.edits.ops import Op, as_json
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.forgetting.redact_audit import strings_in
from vault_memory.rules.forgetting.redact_notes import (
    Redacted,
    cut_audit,
    cut_note,
    cut_transcript,
)
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.purge import Eraser
from vault_memory.vault.write.writer import Writer, WriteResult

logger = logging.getLogger(__name__)

LARGEST = 256 << 20
"""In bytes: of one file that is rewritten"""
IN_USE = "it is in use; run `forget` again when it is not"
LINGERS = "the file from before a write, which a program may have open; close it, and run `forget` again"


@dataclass(slots=True)
class Forgetting:
    """What was found and taken out, or would be."""

    removed: dict[str, int] = field(default_factory=dict)
    """by place: a path of the vault, or `history`, `trash`, `waiting writes`"""
    remaining: dict[str, str] = field(default_factory=dict)
    """by place: why it is there still"""

    alike: dict[str, int] = field(default_factory=dict)
    """by path: how often something stands there that only reads like it, and stays"""

    def took(self, place: str, count: int) -> None:
        if count:
            self.removed[place] = self.removed.get(place, 0) + count


class Forgetter:
    """Of one text, in one vault; `scopes` None means all of it."""

    def __init__(
        self,
        curator: NoteEditor,
        layout: Layout,
        sought: TextMatcher,
        scopes: Collection[str] | None = None,
    ) -> None:
        self._curator, self._layout, self._sought, self._scopes = (
            curator,
            layout,
            sought,
            scopes,
        )
        self._revisions: Mapping[str, str] = {}
        self._patience = 0.0
        # Names are outside of scopes: only who forgets in all of the vault changes them.
        masked = sought.masked if scopes is None else str
        self._eraser = Eraser(
            lambda path, raw: self.cut(path, raw).raw, self._redact_record, masked
        )

    def look(self, found: Forgetting) -> None:
        """Only look."""
        for path, note in self._files(found):
            cut = self.cut(path, note.raw)
            found.took(path, cut.count)
            if self._kind(path) != "audit" and (
                count := self._sought.reads_alike(cut.raw.decode("utf-8", "replace"))
            ):
                found.alike[path] = count

    def look_back(self, found: Forgetting, now: datetime) -> None:
        """Only look, through what is kept outside the vault."""
        erased = self._curator.writer.erase(self._eraser, now, dry_run=True)
        found.took("history", erased.versions)
        found.took("trash", erased.trash)
        found.took("waiting writes", erased.waiting)
        found.took("names", erased.names)

    def carry_out(self, found: Forgetting, now: datetime, *, patience: float) -> None:
        """Take it out of the files and of what is kept of their past. Raises JournalUnavailable.

        `patience` is how many seconds to wait for a file that is in use.

        The audits come first, so that nothing is proposed any more; the INBOX pages last, so that a line which goes
        from them decides nothing.
        """
        writer, self._patience = self._curator.writer, patience
        with self._curator.turn(now):
            self._revisions = dict(
                writer.erase(self._eraser, now, dry_run=True).revisions
            )
            notes = [
                (path, note)
                for path, note in self._files(found, audits=False)
                if self.cut(path, note.raw).count
            ]
            self._revisions |= {
                note.revision: revision_of(self.cut(path, note.raw).raw)
                for path, note in notes
            }
            self._rewrite_all(self._files(found, notes=False), found, now)
            self._plan_waiting_again()
            # Before anything that waits could be written.
            writer.erase(self._eraser, now)
            self._rewrite_all(
                sorted(notes, key=lambda file: self._kind(file[0]) == "inbox"),
                found,
                now,
            )
        self._curator.tend(now)  # the records of what was written
        with self._curator.turn(now):
            erased = writer.erase(self._eraser, now)
        found.remaining.update(dict.fromkeys(erased.lingering, LINGERS))
        if not erased.compacted:
            found.remaining["history"] = IN_USE

    def holds(self, path: str) -> bool:
        """Whether a file of the vault is one that forgetting looks into."""
        return self._kind(path) != ""

    def cut(self, path: str, raw: bytes) -> Redacted:
        """The bytes of a file of the vault without the text; the same when it is not in them, or out of scope."""
        kind = self._kind(path)
        if kind == "audit":
            return cut_audit(raw, self._sought, self._revisions)
        if kind == "transcript":
            return cut_transcript(raw, self._sought)
        return (
            cut_note(raw, self._sought, facts=kind == "facts")
            if kind
            else Redacted(raw)
        )

    def _kind(self, path: str) -> str:
        """Empty for a file that is none of ours, or of another scope. Copies are what they are copies of."""
        folder, slash, name = path.rpartition("/")
        place = self._layout.place(folder + slash + (conflict_copy(name) or name))
        if place is None or (
            self._scopes is not None and place.scope not in self._scopes
        ):
            return ""
        return place.kind

    def _files(
        self, found: Forgetting, *, notes: bool = True, audits: bool = True
    ) -> Iterator[tuple[str, Note]]:
        """All files of the vault that are memory, with their bytes, read one by one."""
        listing = self._curator.folder.listing()
        found.remaining.update(
            {path: why for path, why in listing.unknown.items() if self._kind(path)}
        )
        for path in [*sorted(listing.entries), *sorted(listing.copies)]:
            kind = self._kind(path)
            if not (kind and (audits if kind == "audit" else notes)):
                continue
            try:
                yield path, self._curator.folder.read(path, max_bytes=LARGEST)
            except NoteNotFound:
                continue
            except VaultMemoryError as error:
                found.remaining[path] = error.message

    def _rewrite_all(
        self, files: Iterable[tuple[str, Note]], found: Forgetting, now: datetime
    ) -> None:
        for path, note in files:
            self._rewrite(self._curator.writer, path, note, found, now)

    def _rewrite(
        self, writer: Writer, path: str, note: Note, found: Forgetting, now: datetime
    ) -> None:
        cut = self.cut(path, note.raw)
        if cut.raw == note.raw:
            return
        curated = self._kind(path) in CURATED and not conflict_copy(
            path.rpartition("/")[2]
        )
        run = (
            self._curator.new_command(path, FORGET, now, RedactText(cut.count))
            if curated
            else None
        )
        op_id = run.id if run else f"forget-{secrets.token_hex(8)}"
        written = writer.write(
            path,
            cut.raw,
            expected=note.revision,
            now=now,
            op_id=op_id,
            quiet=QUIET_SECONDS if curated else 0.0,
            record=run.as_bytes() if run else b"",
            merge=lambda base, ours, theirs: self.cut(path, theirs).raw,
        )
        waits = self._wait(writer, written, now)
        if waits is None:
            found.remaining.pop(path, None)
        else:
            writer.discard(op_id)
            found.remaining[path] = f"{waits}; run `forget` again when that is over"

    def _wait(self, writer: Writer, written: WriteResult, now: datetime) -> str | None:
        """None when it was written within our patience, else why not."""
        began = time.monotonic()
        op = next((one for one in writer.pending() if one.op_id == written.op_id), None)
        while (
            op is not None
            and op.reason in PASSING
            and (spent := time.monotonic() - began) < self._patience
        ):
            time.sleep(PAUSE_SECONDS)
            writer.tend(now + timedelta(seconds=spent))
            op = next(
                (one for one in writer.pending() if one.op_id == written.op_id), None
            )
        return None if op is None else WriteResult.of(op).explanation

    def _plan_waiting_again(self) -> None:
        """Plans the pending writes of notes again, without the text.

        Cutting the text from what they will write is not enough: an op that puts it in place of a line removes that line.
        """
        writer = self._curator.writer
        for write in writer.pending():
            command = EditCommand.read(write.record)
            if command is None or not write.content or not self._kind(write.path):
                continue
            content = writer.content(write)
            redacted = self._redact_command(command)
            if redacted is None or not self.cut(write.path, content).count:
                continue
            base = self._base_of(write)
            if base is None:
                # Of a new note nothing but the text goes. A note that changed makes the writer plan again.
                continue
            redacted, plan = self._curator.plan_again(redacted, base)
            if plan.after is None:
                continue
            with writer.journal.transaction():
                revision = writer.snapshots.keep(plan.after)
                record = redacted.as_bytes()
                writer.journal.put(replace(write, content=revision, record=record))

    def _base_of(self, write: PendingWrite) -> bytes | None:
        """Returns the text that a write was planned on, without the text to forget.

        None for a new note, and where neither the journal nor the note has it any more.
        """
        raw = self._curator.writer.snapshots.bytes_of(write.base)
        if raw is None:
            try:
                note = self._curator.folder.read(write.path, max_bytes=LARGEST)
            except VaultMemoryError:
                return None
            if note.revision != write.base:
                return None
            raw = note.raw
        return self.cut(write.path, raw).raw

    def _redact_record(self, record: bytes) -> bytes | None:
        """Returns the record of a write without the text; None where nothing of the write remains."""
        command = EditCommand.read(record)
        if command is None:
            is_affected = self._scopes is None and self._sought.is_in_bytes(record)
            return None if is_affected else record
        redacted = self._redact_command(command)
        if redacted is None:
            return None
        return record if redacted == command else redacted.as_bytes()

    def _redact_command(self, command: EditCommand) -> EditCommand | None:
        if not self._kind(command.note):
            return command
        action = self._redact_action(command.action)
        if action is None:
            return None
        why = "" if self._sought.hides(command.why) else command.why
        return replace(command, action=action, why=why)

    def _redact_action(self, action: EditAction) -> EditAction | None:
        """Returns the action without the text; None where nothing else is left of it."""
        match action:
            case ApplyOps(ops):
                clean_ops = tuple(op for op in ops if not self._is_in_op(op))
                return ApplyOps(clean_ops) if clean_ops or not ops else None
            case EditText(edit):
                return None if self._is_in_op(edit) else action
            case MoveSections(moves):
                clean_moves = tuple(
                    move for move in moves if not self._sought.hides(move.text)
                )
                return MoveSections(clean_moves) if clean_moves else None
            case ChangeFacts(wishes):
                clean_wishes = tuple(
                    wish for wish in wishes if not self._is_in_wish(wish)
                )
                return ChangeFacts(clean_wishes) if clean_wishes else None
            case (
                UndoRecord()
                | RestoreVersion()
                | DecideProposals()
                | RestoreLines()
                | MergeCopy()
                | RedactText()
                | RetireNote()
            ):
                # These name records, versions and files, and hold no text of a note.
                return action
            case _:
                assert_never(action)

    def _is_in_op(self, op: object) -> bool:
        value = as_json(op) if isinstance(op, Op) else op
        return any(map(self._sought.hides, strings_in(value)))

    def _is_in_wish(self, wish: Wish) -> bool:
        """Whether the fact of a wish contains the text, in a field or in its line as people read it."""
        if "fact" not in wish:
            return False  # it names its fact by an id
        if any(map(self._sought.hides, strings_in(wish["fact"]))):
            return True
        return self._sought.hides(fact_of(wish).line())
