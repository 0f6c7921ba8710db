"""Tells when a person deleted an item of a note, and whether a turn says it after that."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.markdown.document import parse
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.audit_record import moment_of
from vault_memory.rules.edits.ownership import changed_texts

if TYPE_CHECKING:
    from vault_memory.edits.audit_log import AuditLog
    from vault_memory.edits.commands import EditCommand
    from vault_memory.edits.note_access import NoteAccess
    from vault_memory.vault.write.writer import Writer


class _LastRecord(NamedTuple):
    """The last record that wrote or removed an item."""

    at: float
    """seconds since 1970"""
    removed: bool


class DeletionTimes:
    """When items were deleted, by the audits, the stored versions and the files of a vault."""

    def __init__(
        self, access: "NoteAccess", trail: "AuditLog", writer: "Callable[[], Writer]"
    ) -> None:
        self._access, self._trail, self._writer = access, trail, writer

    def said_later(self, command: "EditCommand", note: str, text: str, turn: str) -> bool:
        """Returns whether a turn of a command is later than the deletion of an item of a note.

        `text` is the normalised text of the item.
        """
        turn_time = (command.spoken or {}).get(turn)
        if not turn_time:
            return False
        now = moment_of(command.ts).timestamp()
        return moment_of(turn_time).timestamp() > self._deleted_at(note, text, now)

    def _deleted_at(self, note: str, text: str, now: float) -> float:
        """Returns when a person deleted an item of a note, in seconds since 1970."""
        last = self._last_record(note, text, now)
        if last.removed:
            return last.at
        was_observed, absent_since = self._seen_without(note, text)
        if was_observed and last.at <= absent_since <= now:
            return absent_since
        # Fault: a copied file may have the time of an older one. The change of its entry in the
        # folder is later. Where both are wrong, the clock that gave them is another one.
        times = (seconds for seconds in self._access.times(note) if last.at <= seconds <= now)
        return next(times, last.at)

    def _last_record(self, note: str, text: str, now: float) -> _LastRecord:
        last = _LastRecord(0.0, False)
        for record in self._trail.of(note):
            at = moment_of(record.ts).timestamp()
            # What is later than the night itself has the time of another clock.
            for applied in record.applied if at <= now else ():
                removed, added = changed_texts(applied)
                if text in removed | added:
                    last = _LastRecord(at, text not in added)
        return last

    def _seen_without(self, note: str, text: str) -> tuple[bool, float]:
        """Returns whether a version before the present file lacks an item, and when the first was seen."""
        snapshots = self._writer().snapshots
        live = self._access.read(note)
        first: float | None = None
        for version in snapshots.chain(self._access.real(note)):
            raw = snapshots.bytes_of(version.revision)
            if raw is None or text in {item.key[1] for item in items_of(parse(raw))}:
                break
            # The file of the present version tells better when it was saved.
            is_live = live is not None and version.revision == live.revision
            first = None if is_live else version.at
        return first is not None, first or 0.0
