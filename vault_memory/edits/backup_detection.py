"""Was the journal put back from a backup, or the vault? Told by the audit, of which each device writes its own.

The marker of a vault is the same on every device and never changes, so it cannot tell. But the journal knows for each
note the last record that this device wrote. Where the audit goes on after that record, with texts that the journal
has never seen, the journal is of yesterday. Then what it knows is past: what stands in the vault is adopted as it is,
nothing is concluded from what it lacks, and what was done since is not done again. Where the record is missing, the
audit was edited, or the vault itself was put back: that is a person's act, and stands.
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
"""Notes, those with the latest records, whose audit is looked at whenever a journal is opened"""


def after_opening(writer: Writer, trail: AuditLog, folder: Folder) -> None:
    """Before a journal is believed: is it older than the vault? Changes no file.

    The latest notes tell it as a rule; any other is asked about before a verdict on it (`Returning`).
    """
    now = datetime.now(UTC)
    try:
        recorded = writer.journal.recorded()
        adopt_newer_vault(
            writer,
            trail,
            folder,
            sorted(recorded, key=recorded.__getitem__)[-LATEST:],
            now,
        )
        if writer.journal.ops("pending") or writer.journal.ops("planned"):
            drop_done(writer, trail, now)
    except (VaultMemoryError, OSError) as error:
        logger.warning(
            "whether the state is older than the vault cannot be told yet: %s", error
        )


def adopt_newer_vault(
    writer: Writer, trail: AuditLog, folder: Folder, notes: Iterable[str], now: datetime
) -> bool:
    """Bring a journal that was put back, as the audit of these notes tells, up to the vault; False when it is none."""
    recorded = writer.journal.recorded()
    if not any(
        _goes_on(writer, trail, note, recorded[note])
        for note in notes
        if note in recorded
    ):
        return False
    logger.warning(
        "the state of this vault is older than its audit, perhaps from a backup: the notes stand as they are"
    )
    writer.snapshots.adopt(_texts(writer, folder), at=now.timestamp())
    fresh = {}
    for note in recorded:
        if (last := trail.last_own(note)) is not None:
            fresh[note] = last.id
    with writer.journal.transaction():
        for note, record_id in fresh.items():
            writer.journal.set_recorded(note, record_id)
    return True


def adopt_salvaged(writer: Writer, folder: Folder, now: datetime) -> None:
    """After a damaged journal was read as far as it could be: adopt the notes as they stand.

    The newest versions may be missing. Compared with older ones, a person's save would look as if it had deleted lines
    of the bot unseen, and the lines would come back.
    """
    if writer.journal.is_salvaged():
        writer.snapshots.adopt(_texts(writer, folder), at=now.timestamp())
        writer.journal.trust_again()


def drop_done(writer: Writer, trail: AuditLog, now: datetime) -> None:
    """Give up what waits, and was done already as the audit has it."""
    for op in writer.recovered(now):
        run = EditCommand.read(op.record)
        if run is not None and trail.held(run.id, run.note) is not None:
            trail.fsync_log(run.note)
            writer.discard(op.op_id)


def gaps(writer: Writer, trail: AuditLog) -> dict[str, int]:
    """The notes whose audit lacks what was written into it, or has lines that are no records; how many of those."""
    found = {note: bad for note, bad in trail.bad_lines().items() if bad}
    missing = {
        note
        for note, known in writer.journal.recorded().items()
        if trail.held(known, note) is None
    }
    return found | {
        note: found.get(note, 0) for note in missing | writer.journal.gaps()
    }


def went_back(snapshots: Snapshots, live: Mapping[str, str]) -> dict[str, str]:
    """The notes that are as they were before something newer, each with the revision of that."""
    found = {
        path: newer
        for path, now, newer in snapshots.gone_back()
        if live.get(path, now) == now
    }
    for path, revision in live.items():
        head = snapshots.head(path)
        if head is None or head.revision == revision or not snapshots.knows(revision):
            continue
        if any(one.revision == revision for one in snapshots.chain(path)):
            found[path] = head.revision
    return found


def note_gap(writer: Writer, trail: AuditLog, note: str) -> None:
    """Before a record is added: remember, if the one that should be before it is missing."""
    known = writer.journal.recorded_of(note)
    last = trail.last_own(note)
    if (
        not known
        or (last is not None and last.id == known)
        or trail.held(known, note) is not None
    ):
        return
    logger.warning(
        "records are missing from the audit of %s: it was edited, or the vault was put back",
        note,
    )
    with writer.journal.transaction():
        writer.journal.set_gap(note, known)


def _goes_on(writer: Writer, trail: AuditLog, note: str, known: str) -> bool:
    last = trail.last_own(note)
    if (
        last is None
        or last.id == known
        or writer.journal.op(last.id)
        or writer.snapshots.wrote(last.after)
    ):
        return False
    return trail.held(known, note) is not None


def _texts(writer: Writer, folder: Folder) -> Iterator[tuple[str, bytes]]:
    for path in writer.snapshots.paths():
        try:
            yield path, folder.read(path, max_bytes=LARGEST_STORED).raw
        except (NoteNotFound, NoteUnreadable):
            continue
