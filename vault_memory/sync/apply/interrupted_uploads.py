"""Uploads without an answer: was it ours that arrived, half of ours, or somebody else's text?"""

import logging
from datetime import datetime

from vault_memory.remote.contract import Fetched, PutResult
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.apply.overwrite_check import Overwritten
from vault_memory.sync.apply.own_writes import NOTHING
from vault_memory.sync.apply.progress import Done
from vault_memory.sync.apply.session import (
    SECOND_LOOK,
    ActionOutdated,
    SyncSession,
    as_stored,
)
from vault_memory.sync.state_db import Sent
from vault_memory.sync.trees import BaseFile, hash_of
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

logger = logging.getLogger(__name__)

CUT_SHORT = "its last upload was cut short; it is sent again in a few seconds"


def repair(sides: SyncSession, done: Done, now: datetime) -> dict[str, str]:
    """Find out what became of uploads without an answer: ours, our own half of one, or somebody else's.

    A beginning of what we sent is written anew; it is never taken for an edit. Then look behind all writes of which
    that is still to be done: another write could wipe out what they replaced. Returns what is still open.
    """
    still: dict[str, str] = {}
    for sent in sides.book.unsettled():
        try:
            _settle(sides, sent, done, now)
        except (RemoteLocked, RemoteBusy, OutcomeUnknown, NotUnderstood) as error:
            still[sent.path] = error.message
        except ActionOutdated:
            still[sent.path] = CUT_SHORT
        except (
            RemoteChanged,
            RemoteMissing,
            ParentMissing,
            Refused,
            RemoteFull,
        ) as error:
            logger.info("%s; it is looked at anew", error.message)
            sides.sent(sent.path)
    return {**Overwritten(sides).search(done, now), **still}


def _settle(sides: SyncSession, sent: Sent, done: Done, now: datetime) -> None:
    ours, was = _bytes_of(sides, sent), sides.book.agreed(sent.path)
    before = hash_of(was)
    try:
        there = _on_server(sides, sent.path)
    except RemoteMissing:
        # What arrived may lie under another name by now, be it a part of it.
        sides.deliveries.lose(sent.path, sent.hash)
        sides.sent(sent.path)
        return
    # Two writes of one second have one tag: the bytes tell whether anything was written.
    is_other = there.etag != sent.tag or revision_of(there.raw) != before
    if is_other:
        _remember(sides, sent, ours, there, now)
    if revision_of(there.raw) == sent.hash:
        sides.agree(sent.path, there.raw, as_stored(there))
        sides.deliveries.record(sent.path, there.raw, before, now)
    elif ours is not None and ours.startswith(there.raw) and is_other:
        with sides.book.writing():
            since = sides.book.doubted(sent.path, there.etag, now)
        if not (there.confirmed or now.timestamp() - since >= SECOND_LOOK):
            raise ActionOutdated
        if (
            reason := Overwritten(sides)
            .search(done, now, only=sent.path)
            .get(sent.path)
        ):
            raise RemoteBusy(reason)
        stored = sides.send(sent.path, ours, there.etag, after=there.modified)
        half = BaseFile(
            revision_of(there.raw), there.etag, "", was.remote_id if was else ""
        )
        with (
            sides.book.writing()
        ):  # another write may have passed together with this one, too
            Overwritten(sides).remember(half, stored, sent.path, ours, now, young=True)
        sides.agree(sent.path, ours, stored)
        sides.deliveries.record(sent.path, ours, before, now, in_parts=True)
    elif is_other:
        # The server may have kept a part of ours, or all of it, before somebody wrote what lies there now.
        sides.deliveries.lose(sent.path, sent.hash)
    sides.sent(sent.path)


def may_have_arrived(sides: SyncSession, path: str) -> bool:
    """Whether the server may have stored an upload although it refused it.

    A proxy may send an upload twice: the server stores the first and refuses the second, for the tag has changed.
    """
    sent = next((sent for sent in sides.book.unsettled() if sent.path == path), None)
    if sent is None:
        return False
    ours = sides.sent_bytes(sent.hash) or b""
    try:
        there = _on_server(sides, path)
        # A listing left it out, or only its tag is new. Ours may begin with it: that does not make it a part of ours.
        is_base = revision_of(there.raw) == hash_of(sides.book.agreed(path))
        is_ours = ours.startswith(there.raw)
        if is_base:
            return False
        return is_ours or _is_among_versions(sides, sent, len(ours))
    except RemoteError as error:
        is_certain = isinstance(error, RemoteMissing | Refused)
        return not is_certain  # else the next pass asks again


def _on_server(sides: SyncSession, path: str) -> Fetched:
    """What the server holds at a path. Only two answers in a row prove that nothing is there."""
    try:
        return sides.remote.get(path, max_bytes=sides.largest)
    except RemoteMissing:
        # Fault: a proxy cannot reach the server for a moment and calls every address missing.
        # The upload would count as gone, and nobody would look for what it replaced.
        return sides.remote.get(path, max_bytes=sides.largest)


def _is_among_versions(sides: SyncSession, sent: Sent, size: int) -> bool:
    """Whether a version of this size came after the text that an upload was to replace."""
    entry = sides.book.last_seen(sent.path)
    if entry is None:
        return False
    versions = sides.remote.versions(sent.path, fileid=entry.fileid)
    newer_sizes = [
        version.size for version in versions if version.modified > entry.modified
    ]
    return size in newer_sizes


def _remember(
    sides: SyncSession, sent: Sent, ours: bytes | None, there: Fetched, now: datetime
) -> None:
    """It may have arrived, and have replaced a text that nobody here has seen."""
    was = sides.book.agreed(sent.path)
    if (
        ours is None
        or not isinstance(was, BaseFile | None)
        or (was is None) != (sent.tag is None)
    ):
        return
    is_ours = ours.startswith(there.raw)
    stored = PutResult(modified=there.modified if is_ours else 0)
    with sides.book.writing():
        Overwritten(sides).remember(
            was or NOTHING, stored, sent.path, ours, now, young=True, tag=sent.tag or ""
        )


def _bytes_of(sides: SyncSession, sent: Sent) -> bytes | None:
    """What was to be uploaded, if it is still to be had."""
    note = sides.local.read(sent.path)
    if isinstance(note, Note) and note.revision == sent.hash:
        return note.raw
    with sides.writing() as writer:
        return writer.snapshots.bytes_of(sent.hash)
