"""Detects that the journal or the vault was restored from a backup, by the audit log of this device.

The marker of a vault is the same on every device and never changes, so it cannot say this. But the journal knows the
last record that this device wrote for each note. If the audit log goes on after that record, with texts that the
journal has never seen, the journal is old. Then the notes are adopted as they are: nothing is concluded from what they
lack, and no command runs twice. If the record is missing from the audit log, the log was edited or the vault itself
was restored. That is a person's act, and is left alone.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.commands import EditCommand
from vault_memory.errors import NoteNotFound, NoteUnreadable, VaultMemoryError
from vault_memory.vault.reader import LARGEST_STORED, Folder
from vault_memory.vault.snapshots import Snapshots
from vault_memory.vault.write.writer import Writer

logger = logging.getLogger(__name__)

LATEST = 64
"""How many notes, those with the newest records, are checked whenever a journal is opened"""


def after_opening(writer: Writer, audit_log: AuditLog, folder: Folder) -> None:
    """Adopts the vault if the journal is older than it. Changes no file.

    The notes with the newest records suffice as a rule; any other is checked before a save of it is judged.
    """
    now = datetime.now(UTC)
    try:
        recorded = writer.journal.recorded()
        by_age = sorted(recorded, key=recorded.__getitem__)
        adopt_newer_vault(writer, audit_log, folder, by_age[-LATEST:], now)
        # Fault (B44): a write that waited at the time of the backup was done since.
        # Carried out again, it would bring back what a person deleted.
        if writer.journal.ops("pending") or writer.journal.ops("planned"):
            drop_done(writer, audit_log, now)
    except (VaultMemoryError, OSError) as error:
        logger.warning("cannot determine yet whether the state is older than the vault: %s", error)


def adopt_newer_vault(
    writer: Writer, audit_log: AuditLog, folder: Folder, notes: Iterable[str], now: datetime
) -> bool:
    """Adopts the vault if one of these notes shows that the journal is older. Returns whether it was."""
    recorded = writer.journal.recorded()
    is_older = any(
        _has_newer_records(writer, audit_log, note, recorded[note])
        for note in notes
        if note in recorded
    )
    if not is_older:
        return False
    logger.warning(
        "the state of this vault is older than its audit, perhaps from a backup: the notes stay as they are"
    )
    writer.snapshots.adopt(_texts(writer, folder), at=now.timestamp())
    last_records = {note: audit_log.last_own(note) for note in recorded}
    with writer.journal.transaction():
        for note, record in last_records.items():
            if record is not None:
                writer.journal.set_recorded(note, record.id)
    return True


def adopt_salvaged(writer: Writer, folder: Folder, now: datetime) -> None:
    """Adopts the notes as they are, after only a part of a damaged journal could be read.

    The newest versions may be missing. Compared with older ones, a person's save would look as if it had deleted lines
    of the bot unseen, and the lines would come back.
    """
    if writer.journal.is_salvaged():
        writer.snapshots.adopt(_texts(writer, folder), at=now.timestamp())
        writer.journal.trust_again()


def drop_done(writer: Writer, audit_log: AuditLog, now: datetime) -> None:
    """Discards the pending writes that the audit log has as done."""
    for write in writer.recovered(now):
        command = EditCommand.read(write.record)
        if command is None:
            continue
        if audit_log.held(command.id, command.note) is not None:
            # Fault (B35): the record may not be on the disk yet. The journal must not
            # forget its write before.
            audit_log.fsync_log(command.note)
            writer.discard(write.op_id)


def gaps(writer: Writer, audit_log: AuditLog) -> dict[str, int]:
    """Returns the notes with gaps in their audit log, each with how many of its lines are no records."""
    bad_lines = {note: count for note, count in audit_log.bad_lines().items() if count}
    incomplete = {
        note
        for note, record_id in writer.journal.recorded().items()
        if audit_log.held(record_id, note) is None
    }
    incomplete |= writer.journal.gaps()
    return bad_lines | {note: bad_lines.get(note, 0) for note in incomplete}


def reverted_notes(snapshots: Snapshots, live: Mapping[str, str]) -> dict[str, str]:
    """Returns the notes that have an older version again, each with the revision of the newer one.

    `live` has the present revisions.
    """
    reverted = {
        path: newer
        for path, revision, newer in snapshots.gone_back()
        if live.get(path, revision) == revision
    }
    for path, revision in live.items():
        head = snapshots.head(path)
        if head is None or head.revision == revision or not snapshots.knows(revision):
            continue
        if any(version.revision == revision for version in snapshots.chain(path)):
            reverted[path] = head.revision
    return reverted


def note_gap(writer: Writer, audit_log: AuditLog, note: str, record_id: str) -> None:
    """Remembers a gap, if the record before the one to be added is missing from the audit log.

    `record_id` is the id of the last record that was safe there.
    """
    last = audit_log.last_own(note)
    if last is not None and last.id == record_id:
        return
    if audit_log.held(record_id, note) is not None:
        return
    logger.warning(
        "records are missing from the audit of %s: it was edited, or the vault was restored", note
    )
    with writer.journal.transaction():
        writer.journal.set_gap(note, record_id)


def _has_newer_records(writer: Writer, audit_log: AuditLog, note: str, record_id: str) -> bool:
    """Whether the audit log goes on after the last record that the journal knows, with unknown texts."""
    last = audit_log.last_own(note)
    if last is None or last.id == record_id:
        return False
    # Fault (B33): a crash between the record and its acknowledgement looks the same.
    # Such a record is no sign of a backup.
    if writer.journal.op(last.id) or writer.snapshots.wrote(last.after):
        return False
    # Fault (B46): without the record that the journal knows, the vault itself was
    # restored, or its log edited. That is a person's act.
    return audit_log.held(record_id, note) is not None


def _texts(writer: Writer, folder: Folder) -> Iterator[tuple[str, bytes]]:
    """Yields the notes that have stored versions, as they are now."""
    for path in writer.snapshots.paths():
        try:
            yield path, folder.read(path, max_bytes=LARGEST_STORED).raw
        except (NoteNotFound, NoteUnreadable):
            continue
