"""Lets the past of a note follow it to its new name: audit files, versions, and writes that wait.

A person, an editor or a sync program renames a note without telling. So the notes that are gone are
compared with those that appeared; `renamed_notes` decides which belong together. The
journal gets the new names first, together with the moves of the audit files that are still to be
done. After a crash these are finished.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.commands import EditCommand
from vault_memory.edits.note_access import NoteState
from vault_memory.edits.record_cache import note_of
from vault_memory.edits.renames.rename_search import KnownNotes, RenameSearch, Sight
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault import audit_moves
from vault_memory.vault.reader import Folder, Note
from vault_memory.vault.write.journal import GONE, RENAMED, PendingWrite
from vault_memory.vault.write.write_context import RenamedNotes
from vault_memory.vault.write.writer import Writer

logger = logging.getLogger(__name__)

MOVING = "moving"
"""Name of a state: the moves of audit files that are still to be done, as JSON"""

Move = tuple[str, str]


class NoteRenames:
    """The renamed notes of one vault; called inside a transaction of the editor."""

    def __init__(
        self, folder: Folder, layout: Layout, trail: AuditLog, writer: Callable[[], Writer]
    ) -> None:
        self._folder, self._trail, self._writer = folder, trail, writer
        self._known = KnownNotes(folder, layout, trail, writer)
        self._met: dict[str, int] = {}
        """Inodes of notes without versions that were asked about, since the last rename"""

    # --- Is a look due? ---

    def may_concern(self, path: str, state: NoteState) -> bool:
        """Whether the note that an edit was loaded for may have been renamed, or its past may be another's."""
        head, note = state.loaded.head, state.note
        if note is None:
            return head is not None or bool(self._trail.files(path))
        if head is None:
            return self._is_unmet(note)
        if self._has_late_audit(path):
            return True
        return self._known.is_another(note, head.revision, head.ino)

    def _has_late_audit(self, path: str) -> bool:
        """Whether an audit file with an earlier name of a note came later than the note."""
        renamed = self._writer().journal.states(RENAMED)
        earlier = [old for old, new in renamed.items() if new == path]
        return any(map(self._trail.files, earlier)) and not self._trail.files(path)

    def is_unknown(self, path: str) -> bool:
        """Whether a note has no versions, as one that was renamed, and was not asked about yet."""
        if self._known.snapshots.head(path) is not None:
            return False
        note = self._known.read(path)
        return note is not None and self._is_unmet(note)

    def _is_unmet(self, note: Note) -> bool:
        if self._met.get(note.path) == note.stat.ino:
            return False
        self._met[note.path] = note.stat.ino
        return True

    def meet(self, state: NoteState, now: datetime) -> None:
        """Stores the version of a note that gets its first record, so that the note is known again."""
        if state.note is not None and state.loaded.head is None:
            self._store(state.note, now)

    def _store(self, note: Note, now: datetime) -> None:
        self._known.snapshots.record_notes([note], at=now.timestamp())

    # --- Following ---

    def follow(self, now: datetime) -> dict[str, str]:
        """Looks for renamed notes, and lets their pasts follow. Returns old → new path."""
        renamed: dict[str, str] = {}
        # A note that was renamed twice is found step by step.
        while step := self._follow(now):
            renamed = {old: step.get(new, new) for old, new in renamed.items()} | step
        return renamed

    def _follow(self, now: datetime) -> dict[str, str]:
        self.finish()
        last_seen = self._known.snapshots.last_seen
        sight = self._look(last_seen())
        # Of a million notes all are loaded only when one is gone or replaced.
        if sight.seen or sight.missing():
            sight = sight._replace(seen={path: last for path, *last in last_seen()})
        search = RenameSearch(self._known, sight)
        renamed = search.renamed()
        if renamed:
            audits = {old: new for old, new in renamed.items() if search.has_own_audit(old)}
            self._carry_out(renamed, audits, now)
        self._note_gone(search.lost, renamed, now)
        return renamed

    def finish(self) -> None:
        """Moves the audit files that an earlier process left."""
        journal = self._writer().journal
        text = journal.state(MOVING)
        moves: list[Move] = [(old, new) for old, new in json.loads(text or "[]")]
        while moves:
            (old, new), *moves = moves
            try:
                audit_moves.move_audits(self._folder.root, old, new)
            except OSError as error:
                logger.warning("the audit of %s cannot follow it to %s yet: %s", old, new, error)
                return
            with journal.transaction():
                journal.set_state(MOVING, json.dumps(moves))
        if text:
            self._trail.forget_files()

    def unmatched(self) -> list[str]:
        """Returns the notes that are gone, and whose audit no note continues."""
        return [
            path
            for path in self._look(()).missing()
            if self._known.is_note(path) and not self._known.was_taken_away(path)
        ]

    def _look(self, seen: Iterable[tuple[str, str, int]]) -> Sight:
        listing = self._folder.listing()
        audits = frozenset(filter(None, map(note_of, listing.entries)))
        sight = Sight(listing, listing.entries, audits, {})
        changed = {path: last for path, *last in seen if sight.is_changed(path, last)}
        return sight._replace(seen=changed)

    def _carry_out(
        self, renamed: Mapping[str, str], audits: Mapping[str, str], now: datetime
    ) -> None:
        """Gives all that the journal knows to the new paths, and moves those audit files."""
        writer = self._writer()
        writes = [
            _moved(write, renamed[write.path])
            for write in writer.pending()
            if write.path in renamed
        ]
        state = (MOVING, json.dumps(_in_order(audits)))
        writer.rename(RenamedNotes(_in_order(renamed), writes, state), now)
        self._met.clear()
        self.finish()
        for old, new in renamed.items():
            note = self._known.read(new)
            if note is not None and self._known.snapshots.head(new) is None:
                self._store(note, now)
            logger.info("%s was renamed to %s: its history follows", old, new)

    def _note_gone(self, lost: Iterable[str], renamed: Mapping[str, str], now: datetime) -> None:
        """Notes since when notes are gone, and which were renamed."""
        journal = self._writer().journal
        missing = set(lost) - renamed.keys()
        since = journal.states(GONE)
        new = missing - since.keys()
        over = since.keys() - missing
        if not (new or over or renamed):
            return
        with journal.transaction():
            for path in new:
                journal.set_state(GONE + path, now.isoformat())
            for path in over:
                journal.drop_state(GONE + path)
            # Where a note went on to another name, its first name leads there, too.
            for old, path in journal.states(RENAMED).items():
                if path in renamed:
                    journal.set_state(RENAMED + old, renamed[path])
            for old, path in renamed.items():
                journal.set_state(RENAMED + old, path)


def _in_order(renamed: Mapping[str, str]) -> list[Move]:
    """Returns the moves; where one note has the old name of another, all go through a name between."""
    if renamed.keys().isdisjoint(renamed.values()):
        return sorted(renamed.items())
    between = {old: _name_between(old) for old in sorted(renamed)}
    return [*between.items(), *((name, renamed[old]) for old, name in between.items())]


def _name_between(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.moving"


def _moved(write: PendingWrite, path: str) -> PendingWrite:
    """Returns a write that waits, for the new path of its note."""
    command = EditCommand.read(write.record)
    record = write.record
    if command is not None and command.note == write.path:
        record = replace(command, note=path).as_bytes()
    return replace(write, path=path, record=record)
