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
from vault_memory.sync.apply.overwrite_check import OverwriteCheck
from vault_memory.sync.apply.own_writes import NOTHING
from vault_memory.sync.apply.progress import PassResult
from vault_memory.sync.apply.session import (
    SECOND_LOOK,
    ActionOutdated,
    SyncSession,
    as_stored,
)
from vault_memory.sync.state_db import OpenUpload
from vault_memory.sync.trees import BaseFile, hash_of
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

logger = logging.getLogger(__name__)

CUT_SHORT = "its last upload was cut short; it is sent again in a few seconds"


def repair(session: SyncSession, result: PassResult, now: datetime) -> dict[str, str]:
    """Find out what became of uploads without an answer: ours, our own half of one, or somebody else's.

    A beginning of what we sent is written anew; it is never taken for an edit. Then look behind all writes of which
    that is still to be done: another write could wipe out what they replaced. Returns what is still open.
    """
    still: dict[str, str] = {}
    for sent in session.state.open_uploads():
        try:
            _settle(session, sent, result, now)
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
            # Fault: the server has half of it, and does not take the whole one any more. What
            # the half lacks would count as removed, or what somebody has written upon the half.
            session.deliveries.lose(sent.path, sent.hash)
            session.sent(sent.path)
    return {**OverwriteCheck(session).search(result, now), **still}


def _settle(
    session: SyncSession, sent: OpenUpload, result: PassResult, now: datetime
) -> None:
    ours, was = _bytes_of(session, sent), session.state.base_of(sent.path)
    before = hash_of(was)
    try:
        there = _on_server(session, sent.path)
    except RemoteMissing:
        # What arrived may lie under another name by now, be it a part of it.
        session.deliveries.lose(sent.path, sent.hash)
        session.sent(sent.path)
        return
    # Two writes of one second have one tag: the bytes tell whether anything was written.
    is_other = there.etag != sent.tag or revision_of(there.raw) != before
    if is_other:
        _remember(session, sent, ours, there, now)
    if revision_of(there.raw) == sent.hash:
        session.agree(sent.path, there.raw, as_stored(there))
        session.deliveries.record(sent.path, there.raw, before, now)
    elif ours is not None and ours.startswith(there.raw) and is_other:
        with session.state.transaction():
            since = session.state.mark_doubtful(sent.path, there.etag, now)
        if not (there.confirmed or now.timestamp() - since >= SECOND_LOOK):
            raise ActionOutdated
        if (
            reason := OverwriteCheck(session)
            .search(result, now, only=sent.path)
            .get(sent.path)
        ):
            raise RemoteBusy(reason)
        stored = session.send(sent.path, ours, there.etag, after=there.modified)
        half = BaseFile(
            revision_of(there.raw), there.etag, "", was.remote_id if was else ""
        )
        with (
            session.state.transaction()
        ):  # another write may have passed together with this one, too
            OverwriteCheck(session).remember(
                half, stored, sent.path, ours, now, young=True
            )
        session.agree(sent.path, ours, stored)
        session.deliveries.record(sent.path, ours, before, now, in_parts=True)
    elif is_other:
        # The server may have kept a part of ours, or all of it, before somebody wrote what lies there now.
        session.deliveries.lose(sent.path, sent.hash)
    session.sent(sent.path)


def may_have_arrived(session: SyncSession, path: str) -> bool:
    """Whether the server may have stored an upload although it refused it.

    A proxy may send an upload twice: the server stores the first and refuses the second, for the tag has changed.
    """
    sent = next(
        (sent for sent in session.state.open_uploads() if sent.path == path), None
    )
    if sent is None:
        return False
    ours = session.sent_bytes(sent.hash) or b""
    try:
        there = _on_server(session, path)
        # A listing left it out, or only its tag is new. Ours may begin with it: that does not make it a part of ours.
        is_base = revision_of(there.raw) == hash_of(session.state.base_of(path))
        is_ours = ours.startswith(there.raw)
        if is_base:
            return False
        return is_ours or _is_among_versions(session, sent, len(ours))
    except RemoteError as error:
        is_certain = isinstance(error, RemoteMissing | Refused)
        return not is_certain  # else the next pass asks again


def _on_server(session: SyncSession, path: str) -> Fetched:
    """What the server holds at a path. Raises RemoteMissing once two answers say so.

    Raises RootMissing where the server calls everything missing.
    """
    try:
        return session.remote.get(path, max_bytes=session.largest)
    except RemoteMissing:
        # Fault: a proxy cannot reach the server for a moment and calls every address missing.
        # The upload would count as gone, and nobody would look for what it replaced. So the
        # server has to show its folder in between.
        session.remote.look("")
        return session.remote.get(path, max_bytes=session.largest)


def _is_among_versions(session: SyncSession, sent: OpenUpload, size: int) -> bool:
    """Whether a version of this size came after the text that an upload was to replace."""
    entry = session.state.entry_of(sent.path)
    if entry is None:
        return False
    versions = session.remote.versions(sent.path, fileid=entry.fileid)
    newer_sizes = [
        version.size for version in versions if version.modified > entry.modified
    ]
    return size in newer_sizes


def _remember(
    session: SyncSession,
    sent: OpenUpload,
    ours: bytes | None,
    there: Fetched,
    now: datetime,
) -> None:
    """It may have arrived, and have replaced a text that nobody here has seen."""
    was = session.state.base_of(sent.path)
    if (
        ours is None
        or not isinstance(was, BaseFile | None)
        or (was is None) != (sent.tag is None)
    ):
        return
    is_ours = ours.startswith(there.raw)
    stored = PutResult(modified=there.modified if is_ours else 0)
    with session.state.transaction():
        OverwriteCheck(session).remember(
            was or NOTHING, stored, sent.path, ours, now, young=True, tag=sent.tag or ""
        )


def _bytes_of(session: SyncSession, sent: OpenUpload) -> bytes | None:
    """What was to be uploaded, if it is still to be had."""
    note = session.local.read(sent.path)
    if isinstance(note, Note) and note.revision == sent.hash:
        return note.raw
    with session.writing() as writer:
        return writer.snapshots.bytes_of(sent.hash)
