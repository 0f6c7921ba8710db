"""Redacts a text from every file of the vault that is memory, and from the stored past of those files.

Notes are written as by any edit: on top of what a person saves meanwhile, never while an editor has
them open, and with an audit record. The record names the time and the note, and not the text.
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
    RecordDuplicates,
    RedactText,
    RestoreLines,
    RestoreVersion,
    RetireNote,
    SaveText,
    UndoRecord,
)
from vault_memory.edits.editor import PASSING, PAUSE_SECONDS, NoteEditor
from vault_memory.edits.note_access import CURATED, QUIET_SECONDS
from vault_memory.edits.plans.fact_edits import Wish, fact_of
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.forgetting.derived_keys import DerivedKeys
from vault_memory.markdown.encodings import text_of
from vault_memory.rules.edits.ops import Op, as_json
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.forgetting.redaction import (
    Redacted,
    cut_audit,
    cut_canvas,
    cut_ledger,
    cut_note,
    cut_transcript,
    strings_in,
)
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.attempt import WriteResult
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.purge import Eraser
from vault_memory.vault.write.replacement import Replacement

logger = logging.getLogger(__name__)

LARGEST = 256 << 20
"""Bytes of the largest file that is rewritten"""
MOST_CACHED = 8
"""Redacted texts that are cached: the same bytes are in a note, in its history and in what waits"""
IN_USE = "it is in use; run `forget` again when it is not"
LINGERS = (
    "the file from before a write, which a program may have open; close it, and run `forget` again"
)


@dataclass(slots=True)
class RedactionReport:
    """Where the text was, and where it is still."""

    removed: dict[str, int] = field(default_factory=dict)
    """Number of removed texts by place: a path, or `history`, `trash`, `waiting writes`"""
    remaining: dict[str, str] = field(default_factory=dict)
    """Why the text remains, by place"""
    alike: dict[str, int] = field(default_factory=dict)
    """Number of look-alike spellings that remain, by path"""

    def add(self, place: str, count: int) -> None:
        """Adds to the count of a place."""
        if count:
            self.removed[place] = self.removed.get(place, 0) + count


class Forgetter:
    """Redacts one text in one vault; `scopes` None means all of the vault."""

    def __init__(
        self,
        editor: NoteEditor,
        layout: Layout,
        matcher: TextMatcher,
        scopes: Collection[str] | None = None,
    ) -> None:
        self._editor = editor
        self._layout = layout
        self._matcher = matcher
        self._scopes = scopes
        self._revisions: Mapping[str, str] = {}
        self._patience = 0.0
        self._cache: dict[tuple[str, bytes], Redacted] = {}
        self.keys = DerivedKeys(layout, matcher)
        # Fault: names belong to no scope. Only a call for all of the vault changes
        # them.
        mask_path = matcher.masked if scopes is None else str
        self._eraser = Eraser(
            lambda path, raw: self.cut(path, raw).raw, self._redact_record, mask_path
        )

    def count_in_vault(self, report: RedactionReport) -> None:
        """Counts the text in the files of the vault. Changes nothing."""
        for path, note in self._files(report):
            redacted = self.cut(path, note.raw)
            report.add(path, redacted.count)
            if self._kind(path) == "audit":
                continue
            remaining_text = text_of(redacted.raw)
            look_alikes = self._matcher.reads_alike(remaining_text)
            if look_alikes:
                report.alike[path] = look_alikes

    def count_in_history(self, report: RedactionReport, now: datetime) -> None:
        """Counts the text in what is stored outside the vault. Changes nothing."""
        erased = self._editor.writer.erase(self._eraser, now, dry_run=True)
        report.add("history", erased.versions)
        report.add("trash", erased.trash)
        report.add("waiting writes", erased.waiting)
        report.add("names", erased.names)

    def redact(self, report: RedactionReport, now: datetime, *, patience: float) -> None:
        """Removes the text from the files and from their stored past. Raises JournalUnavailable.

        `patience` is how many seconds to wait for a file that is in use.
        """
        writer = self._editor.writer
        self._patience = patience
        with self._editor.turn(now):
            erased = writer.erase(self._eraser, now, dry_run=True)
            self._revisions = dict(erased.revisions)
            notes = self._notes_with_text(report)
            for path, note in notes:
                clean = self.cut(path, note.raw).raw
                self._revisions[note.revision] = revision_of(clean)
            # Fault: an INBOX page is written again from the audits. They come first:
            # from then on no proposal contains the text.
            self._rewrite_all(self._files(report, notes=False), report, now)
            self._plan_waiting_again()
            # Fault: a note that becomes free gives a waiting write its chance. What
            # waits must be clean before any write.
            writer.erase(self._eraser, now)
            # Fault: a line that disappears from an INBOX page counts as a person's
            # decision. These pages come last, when no proposal is left to decide.
            notes.sort(key=lambda file: self._kind(file[0]) == "inbox")
            self._rewrite_all(notes, report, now)
        # Writes the audit records of these writes.
        self._editor.tend(now)
        with self._editor.turn(now):
            erased = writer.erase(self._eraser, now)
        report.remaining.update(dict.fromkeys(erased.lingering, LINGERS))
        if not erased.compacted:
            report.remaining["history"] = IN_USE

    def covers(self, path: str) -> bool:
        """Whether a file of the vault is memory of these scopes."""
        return self._kind(path) != ""

    def cut(self, path: str, raw: bytes) -> Redacted:
        """Returns the bytes of a file without the text; all of them for a file that is not covered."""
        kind = self._kind(path)
        if kind == "":
            return Redacted(raw)
        # The new bytes of an audit also depend on the revisions that changed.
        if kind == "audit":
            return cut_audit(raw, self._matcher, self._revisions)
        # Those of a ledger depend on the items that were removed from notes.
        if kind == "ledger":
            return self.keys.cut(path, cut_ledger(raw, self._matcher))
        redacted = self._cache.get((kind, raw)) or self._cut_text(kind, raw)
        # A text without any match takes no time.
        if redacted.count:
            self._add_to_cache((kind, raw), redacted)
            self.keys.collect(path, raw)
        return redacted

    def _cut_text(self, kind: str, raw: bytes) -> Redacted:
        if kind == "transcript":
            return cut_transcript(raw, self._matcher)
        if kind == "canvas":
            return cut_canvas(raw, self._matcher)
        return cut_note(raw, self._matcher, facts=kind == "facts")

    def _add_to_cache(self, key: tuple[str, bytes], redacted: Redacted) -> None:
        if len(self._cache) >= MOST_CACHED:
            oldest = next(iter(self._cache))
            del self._cache[oldest]
        self._cache[key] = redacted

    def _kind(self, path: str) -> str:
        """Returns the kind of a file; "" for one that is not covered.

        A conflict copy has the kind of its note.
        """
        folder, slash, name = path.rpartition("/")
        original = conflict_copy(name) or name
        place = self._layout.place(folder + slash + original)
        if place is None:
            return ""
        if self._scopes is not None and place.scope not in self._scopes:
            return ""
        return place.kind

    def _files(
        self, report: RedactionReport, *, notes: bool = True, audits: bool = True
    ) -> Iterator[tuple[str, Note]]:
        """Yields the covered files of the vault with their bytes, read one by one."""
        listing = self._editor.folder.listing()
        for path, why in listing.unknown.items():
            if self._kind(path):
                report.remaining[path] = why
        for path in [*sorted(listing.entries), *sorted(listing.copies)]:
            kind = self._kind(path)
            is_included = audits if kind == "audit" else notes
            if not kind or not is_included:
                continue
            try:
                yield path, self._editor.folder.read(path, max_bytes=LARGEST)
            # A person deleted the file after it was listed.
            except NoteNotFound:
                continue
            except VaultMemoryError as error:
                # Fault (B40): a file that cannot be read may contain the text. The
                # report must name it.
                report.remaining[path] = error.message

    def _notes_with_text(self, report: RedactionReport) -> list[tuple[str, Note]]:
        return [
            (path, note)
            for path, note in self._files(report, audits=False)
            if self.cut(path, note.raw).count
        ]

    def _rewrite_all(
        self, files: Iterable[tuple[str, Note]], report: RedactionReport, now: datetime
    ) -> None:
        for path, note in files:
            clean = self.cut(path, note.raw)
            if clean.raw == note.raw:
                continue
            reason = self._rewrite(path, note, clean, now)
            if reason is None:
                report.remaining.pop(path, None)
            else:
                again = "run `forget` again when that is over"
                report.remaining[path] = f"{reason}; {again}"

    def _rewrite(self, path: str, note: Note, clean: Redacted, now: datetime) -> str | None:
        """Writes a file without the text. Returns why that is not possible now, else None."""
        writer = self._editor.writer
        name = path.rpartition("/")[2]
        op_id = f"forget-{secrets.token_hex(8)}"
        record = b""
        quiet = 0.0
        if self._kind(path) in CURATED and not conflict_copy(name):
            action = RedactText(clean.count)
            command = self._editor.new_command(path, FORGET, now, action)
            op_id = command.id
            record = command.as_bytes()
            quiet = QUIET_SECONDS
        new = Replacement(
            path, clean.raw, expected=note.revision, op_id=op_id, quiet=quiet, record=record
        )
        result = writer.write(
            new, now=now, merge=lambda base, ours, theirs: self.cut(path, theirs).raw
        )
        reason = self._wait_until_written(result, now)
        if reason is not None:
            # Fault: written later, it would find a note of which the report says that
            # it remains.
            writer.discard(op_id)
        return reason

    def _wait_until_written(self, result: WriteResult, now: datetime) -> str | None:
        """Waits for a write within our patience. Returns why it still waits, else None."""
        start = time.monotonic()
        write = self._find_pending(result.op_id)
        while write is not None and write.reason in PASSING:
            spent = time.monotonic() - start
            if spent >= self._patience:
                break
            time.sleep(PAUSE_SECONDS)
            self._editor.writer.tend(now + timedelta(seconds=spent))
            write = self._find_pending(result.op_id)
        return None if write is None else WriteResult.of(write).explanation

    def _find_pending(self, op_id: str) -> PendingWrite | None:
        writes = self._editor.writer.pending()
        return next((write for write in writes if write.op_id == op_id), None)

    # --- Pending writes ---

    def _plan_waiting_again(self) -> None:
        """Plans the pending writes of notes again, without the text.

        To cut the text from their content is not enough: an op that replaces a line by the text
        would then remove that line.
        """
        for write in self._editor.writer.pending():
            command = EditCommand.read(write.record)
            if command is None or not write.content or not self.covers(write.path):
                continue
            content = self._editor.writer.content(write)
            redacted = self._redact_command(command)
            if redacted is not None and self.cut(write.path, content).count:
                self._plan_again(write, redacted)

    def _plan_again(self, write: PendingWrite, command: EditCommand) -> None:
        base = self._base_of(write)
        if base is None:
            # A new note loses nothing but the text. After a change the writer plans again anyway.
            return
        command, plan = self._editor.plan_again(command, base)
        if plan.after is None:
            return
        writer = self._editor.writer
        with writer.journal.transaction():
            content = writer.snapshots.keep(plan.after)
            record = command.as_bytes()
            writer.journal.put(replace(write, content=content, record=record))

    def _base_of(self, write: PendingWrite) -> bytes | None:
        """Returns the text that a write was planned on, without the text to forget.

        None for a new note, and where neither the journal nor the note has it any more.
        """
        raw = self._editor.writer.snapshots.bytes_of(write.base)
        if raw is None:
            try:
                note = self._editor.folder.read(write.path, max_bytes=LARGEST)
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
            # Fault: a record of a newer version cannot be redacted in part.
            is_affected = self._scopes is None and self._matcher.is_in_bytes(record)
            return None if is_affected else record
        redacted = self._redact_command(command)
        if redacted is None:
            return None
        return record if redacted == command else redacted.as_bytes()

    def _redact_command(self, command: EditCommand) -> EditCommand | None:
        """Returns the command without the text; None where nothing else is left of it."""
        if not self.covers(command.note):
            return command
        action = self._redact_action(command)
        if action is None:
            return None
        why = "" if self._matcher.hides(command.why) else command.why
        return replace(command, action=action, why=why)

    def _redact_action(self, command: EditCommand) -> EditAction | None:
        """Returns the action without the text; None where nothing of it is left."""
        match action := command.action:
            case ApplyOps():
                return self._redact_ops(action)
            case EditText():
                return self._redact_text(action)
            case SaveText(text, base):
                text = self.cut(command.note, text.encode()).raw.decode()
                base = self.cut(command.note, base.encode()).raw.decode()
                return SaveText(text, base)
            case MoveSections():
                return self._redact_moves(action)
            case ChangeFacts():
                return self._redact_wishes(action)
            case RecordDuplicates():
                return self._redact_duplicates(action)
            case (
                UndoRecord()
                | RestoreVersion()
                | DecideProposals()
                | RestoreLines()
                | MergeCopy()
                | RedactText()
                | RetireNote()
            ):
                # These name records, versions and files, and contain no text of a note.
                return action
            case _:
                assert_never(action)

    def _redact_ops(self, action: ApplyOps) -> ApplyOps | None:
        # The command of a proposal may have no ops: it contains no text.
        if not action.ops and not action.asks:
            return action
        ops = tuple(op for op in action.ops if not self._is_in_op(op))
        asks = tuple(
            ask
            for ask in action.asks
            if not self._is_in_op(ask.op) and not self._matcher.hides(ask.why)
        )
        return ApplyOps(ops, asks) if ops or asks else None

    def _redact_text(self, action: EditText) -> EditText | None:
        return None if self._is_in_op(action.edit) else action

    def _redact_duplicates(self, action: RecordDuplicates) -> RecordDuplicates | None:
        skips = tuple(skip for skip in action.skips if not self._is_in_op(skip))
        return RecordDuplicates(skips) if skips else None

    def _redact_moves(self, action: MoveSections) -> MoveSections | None:
        hides = self._matcher.hides
        moves = tuple(move for move in action.moves if not hides(move.text))
        return MoveSections(moves) if moves else None

    def _redact_wishes(self, action: ChangeFacts) -> ChangeFacts | None:
        wishes = tuple(wish for wish in action.wishes if not self._is_in_wish(wish))
        return ChangeFacts(wishes) if wishes else None

    def _is_in_op(self, op: object) -> bool:
        value = as_json(op) if isinstance(op, Op) else op
        return any(map(self._matcher.hides, strings_in(value)))

    def _is_in_wish(self, wish: Wish) -> bool:
        """Whether the fact of a wish contains the text: in a field, or in its line of the note."""
        # A wish without a fact names an existing one by its id.
        if "fact" not in wish:
            return False
        if any(map(self._matcher.hides, strings_in(wish["fact"]))):
            return True
        return self._matcher.hides(fact_of(wish).line())
