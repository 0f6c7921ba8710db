"""Finds out the outcome of uploads without an answer: the server has our text, a part of it, or another text."""

import logging
from dataclasses import replace
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
from vault_memory.sync.apply.own_writes import NOTHING, FinishedWrite
from vault_memory.sync.apply.session import SECOND_LOOK, ActionOutdated, SyncSession, as_stored
from vault_memory.sync.apply.unread_uploads import SentUpload, stored_upload
from vault_memory.sync.pass_report import PassResult
from vault_memory.sync.state_db import OpenUpload
from vault_memory.sync.trees import BaseFile, hash_of
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

logger = logging.getLogger(__name__)

CUT_SHORT = "its last upload was cut short; it is sent again in a few seconds"


def repair(session: SyncSession, result: PassResult, now: datetime) -> dict[str, str]:
    """Settle the uploads without an answer, then check what all recent writes have overwritten.

    Returns the paths that are still open, with the reasons.
    """
    still_open: dict[str, str] = {}
    for upload in session.state.open_uploads():
        try:
            _InterruptedUpload(session, upload).settle(result, now)
        except (RemoteLocked, RemoteBusy, OutcomeUnknown, NotUnderstood) as error:
            still_open[upload.path] = error.message
        except ActionOutdated:
            still_open[upload.path] = CUT_SHORT
        except (RemoteChanged, RemoteMissing, ParentMissing, Refused, RemoteFull) as error:
            logger.info("%s; the next pass compares it again", error.message)
            # Fault: the server has a part of the text, and refuses the complete one. Lines that the
            # part lacks would count as removed, or lines that others based on the part.
            _record_unanswered(session, upload, now)
            session.end_upload(upload.path)
    # Fault: another write could delete the version with the text that an earlier one replaced.
    waiting = OverwriteCheck(session).search(result, now)
    return {**waiting, **still_open}


class _InterruptedUpload:
    """One upload whose outcome is unknown."""

    def __init__(self, session: SyncSession, upload: OpenUpload) -> None:
        self._session = session
        self._upload = upload
        self._path = upload.path
        self._overwrites = OverwriteCheck(session)

    def settle(self, result: PassResult, now: datetime) -> None:
        """Record the outcome; a part of our text is uploaded again, and never counts as an edit.

        Raises RemoteErrors, and ActionOutdated when it has to wait.
        """
        session, path = self._session, self._path
        sent_hash = self._upload.hash
        ours = self._sent_bytes()
        before = hash_of(session.state.base_of(path))
        try:
            fetched = _fetch(session, path)
        except RemoteMissing:
            # Fault: the server stored it, or a part, and another device has renamed it.
            _record_unanswered(session, self._upload, now)
            session.end_upload(path)
            return
        revision = revision_of(fetched.raw)
        # Fault: two writes of one second have one tag. Only the bytes show a second write.
        is_other = fetched.etag != self._upload.tag or revision != before
        if is_other:
            self._remember(ours, fetched, now)
        if revision == sent_hash:
            session.record_base(path, fetched.raw, as_stored(fetched), now)
            session.unread.record(stored_upload(path, fetched.raw, before, now))
        elif ours is not None and ours.startswith(fetched.raw) and is_other:
            self._complete(ours, fetched, result, now)
        elif is_other:
            # Fault: the server stored our text or a part of it before another program wrote.
            _record_unanswered(session, self._upload, now)
        session.end_upload(path)

    def _complete(self, ours: bytes, fetched: Fetched, result: PassResult, now: datetime) -> None:
        """Upload our text again over its first part. Raises ActionOutdated, RemoteBusy."""
        session, path = self._session, self._path
        was = session.state.base_of(path)
        with session.state.transaction():
            since = session.state.mark_doubtful(path, fetched.etag, now)
        if not fetched.confirmed and now.timestamp() - since < SECOND_LOOK:
            raise ActionOutdated
        reason = self._overwrites.search(result, now, only=path).get(path)
        if reason:
            raise RemoteBusy(reason)
        remote_id = was.remote_id if was else ""
        first_part = BaseFile(revision_of(fetched.raw), fetched.etag, "", remote_id)
        self._overwrites.list_first_part(path, self._upload.hash, first_part.hash)
        stored = session.upload(path, ours, fetched.etag, after=fetched.modified)
        # Fault: another write passed the precondition together with this one, too.
        write = FinishedWrite(path=path, raw=ours, replaced=first_part, stored=stored, young=True)
        with session.state.transaction():
            self._overwrites.remember(write, now)
        session.record_base(path, ours, stored, now)
        sent = stored_upload(path, ours, hash_of(was), now)
        session.unread.record(replace(sent, in_parts=True))

    def _remember(self, ours: bytes | None, fetched: Fetched, now: datetime) -> None:
        """Store the upload for a check of what it may have replaced unseen."""
        session, tag = self._session, self._upload.tag
        was = session.state.base_of(self._path)
        if ours is None or not isinstance(was, BaseFile | None):
            return
        if (was is None) != (tag is None):
            return
        is_ours = ours.startswith(fetched.raw)
        write = FinishedWrite(
            path=self._path,
            raw=ours,
            replaced=was or NOTHING,
            stored=PutResult(modified=fetched.modified if is_ours else 0),
            young=True,
            tag=tag or "",
        )
        with session.state.transaction():
            self._overwrites.remember(write, now)

    def _sent_bytes(self) -> bytes | None:
        """The bytes of the upload; None when they are no longer stored."""
        note = self._session.local.read(self._path)
        if isinstance(note, Note) and note.revision == self._upload.hash:
            return note.raw
        return self._session.sent_bytes(self._upload.hash)


def _record_unanswered(session: SyncSession, upload: OpenUpload, now: datetime) -> None:
    """Record that the outcome of an upload is unknown, and that the server has another text.

    The other text may be based on a part of ours.
    """
    sent = SentUpload(
        path=upload.path,
        revision=upload.hash,
        before=hash_of(session.state.base_of(upload.path)),
        size=upload.size,
        at=now.timestamp(),
        evidence="unanswered",
    )
    session.unread.record(sent)


def may_have_arrived(session: SyncSession, path: str) -> bool:
    """Whether the server may have stored an upload although it refused it."""
    # Fault: a proxy sends an upload twice. The server stores the first and refuses the second, since
    # the tag has changed.
    uploads = [upload for upload in session.state.open_uploads() if upload.path == path]
    if not uploads:
        return False
    upload = uploads[0]
    ours = session.sent_bytes(upload.hash) or b""
    try:
        fetched = _fetch(session, path)
        # The base may be a first part of ours: then a listing left the file out, or only its tag is
        # new, and nothing arrived.
        if revision_of(fetched.raw) == hash_of(session.state.base_of(path)):
            return False
        if ours.startswith(fetched.raw):
            return True
        return _is_among_versions(session, upload, len(ours))
    except RemoteError as error:
        is_certain = isinstance(error, RemoteMissing | Refused)
        return not is_certain  # else the next pass asks again


def _fetch(session: SyncSession, path: str) -> Fetched:
    """Fetch the server's file. Raises RemoteMissing once two answers say so.

    Raises RootMissing where the server calls everything missing.
    """
    try:
        return session.remote.get(path, max_bytes=session.largest)
    except RemoteMissing:
        # Fault: a proxy cannot reach the server for a moment and calls every address missing.
        # The upload would count as gone, and what it replaced would never be checked. So the
        # server has to show its folder in between.
        session.remote.look("")
        return session.remote.get(path, max_bytes=session.largest)


def _is_among_versions(session: SyncSession, upload: OpenUpload, size: int) -> bool:
    """Whether a version of this size came after the text that an upload was to replace."""
    entry = session.state.entry_of(upload.path)
    if entry is None:
        return False
    versions = session.remote.versions(upload.path, fileid=entry.fileid)
    newer_sizes = [version.size for version in versions if version.modified > entry.modified]
    return size in newer_sizes
