"""Uploads many files of one pass in groups, so that the disk is synced seldom."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import NoReturn, Protocol, TypeVar

from vault_memory.remote.contract import Entry, PutResult
from vault_memory.remote.remote_errors import (
    OutcomeUnknown,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
)
from vault_memory.sync.actions import Action, Upload
from vault_memory.sync.apply.overwrite_check import OverwriteCheck
from vault_memory.sync.apply.own_writes import NOTHING, FinishedWrite
from vault_memory.sync.apply.session import ActionOutdated, SyncSession
from vault_memory.sync.apply.unread_uploads import stored_upload
from vault_memory.sync.pass_report import PassResult
from vault_memory.sync.trees import BaseFile, BaseNode, hash_of
from vault_memory.vault.reader import Note

TOGETHER = 64
"""Uploads that are recorded at once: after a crash, so many are compared again"""
FEW = 3
"""Up to so many files of one folder are asked for singly"""
MANY = 10
"""Fewer new notes are uploaded singly, each with a precondition"""
LARGEST = 2**20
"""Bytes of the notes in one request"""
PAUSE_SECONDS = 3600.0
"""How long notes are uploaded singly after the server refused a bulk upload or did not answer"""
_FACT = "bulk_failed"

Batch = list[tuple[Upload, Note]]
Answers = Mapping[str, PutResult | None]
"""What was stored, by path; None where the outcome is unknown"""
T = TypeVar("T")


# --- Bulk uploads ---

# Bulk uploads: many new notes in one request, where the server supports that.
#
# Such a request has no precondition. So it has only notes that the listing of this pass did not
# have.


class Attempt(Protocol):
    """Runs a step of an action and records its error; returns None when the step failed."""

    def __call__(self, action: Action, work: Callable[[], T]) -> T | None: ...


class BulkUploads:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session

    def batches(self, ready: Sequence[tuple[Upload, Note]], now: datetime) -> Iterator[Batch]:
        """Yield the notes of one request after another, as long as the server takes bulk uploads."""
        session = self._session
        if not (session.scanned_server and session.remote.traits.bulk):
            return
        new_notes = self._new_notes(ready)
        while len(new_notes) >= MANY and not self._is_paused(now):
            count = _count_for_request(new_notes)
            yield new_notes[:count]
            new_notes = new_notes[count:]

    def send(self, batch: Batch, attempt: Attempt, now: datetime) -> Answers:
        """Upload a batch. A path that the answers lack was not stored."""
        files = [(action.path, note.raw) for action, note in batch]
        try:
            answers = self._session.remote.put_new(files)
        except Refused:
            self._pause(now)
            return {}
        except OutcomeUnknown as error:
            # Each upload stays open: the next pass compares it with the server's file.
            self._pause(now)
            _record_unknown(batch, error.reason, attempt)
            return _all_unknown(batch)
        except RemoteBusy as error:
            for action, _ in batch:
                attempt(action, partial(_fail, error))
            return _all_unknown(batch)
        if _are_useless(answers):
            self._pause(now)
        unnamed = [
            (action, note)
            for action, note in batch
            if action.path in answers and answers[action.path] is None
        ]
        _record_unknown(unnamed, "the answer does not name it", attempt)
        return answers

    def _new_notes(self, ready: Sequence[tuple[Upload, Note]]) -> Batch:
        """Notes that the server does not have, in folders that it has."""
        entries = self._session.state.entries()
        folders = {"", *(path for path, entry in entries.items() if entry.is_folder)}

        def is_new(action: Upload) -> bool:
            folder = action.path.rpartition("/")[0]
            is_listed = action.path in entries
            return action.tag is None and not is_listed and folder in folders

        return [
            (action, note) for action, note in ready if is_new(action) and len(note.raw) <= LARGEST
        ]

    def _is_paused(self, now: datetime) -> bool:
        since = self._session.state.meta(_FACT)
        if not isinstance(since, int | float):
            return False
        return 0 <= now.timestamp() - since < PAUSE_SECONDS

    def _pause(self, now: datetime) -> None:
        with self._session.state.transaction():
            self._session.state.set_meta(_FACT, now.timestamp())


def _count_for_request(batch: Batch) -> int:
    """How many of the first notes fit into one request; at least one."""
    size = 0
    for index, (_, note) in enumerate(batch):
        size += len(note.raw)
        if index and size > LARGEST:
            return index
    return len(batch)


def _are_useless(answers: Answers) -> bool:
    """Whether every file of many must be checked singly: then bulk uploads cost more than they save."""
    if len(answers) < MANY:
        return False
    return all(stored is None or stored.replaced for stored in answers.values())


def _all_unknown(batch: Batch) -> Answers:
    return {action.path: None for action, _ in batch}


def _record_unknown(batch: Batch, reason: str, attempt: Attempt) -> None:
    for action, _ in batch:
        error = OutcomeUnknown(action.path, reason)
        attempt(action, partial(_fail, error))


def _fail(error: RemoteError) -> NoReturn:
    raise error


# --- Upload batches ---


@dataclass(frozen=True, slots=True)
class _StoredUpload:
    """An upload that the server reports as stored."""

    action: Upload
    note: Note
    stored: PutResult

    @property
    def path(self) -> str:
        return self.action.path

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def is_new(self) -> bool:
        """Whether this device created the file."""
        return self.action.tag is None and not self.stored.replaced


class UploadBatches:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._bulk = BulkUploads(session)
        self._overwrites = OverwriteCheck(session)
        self._suspects: frozenset[str] = frozenset()

    def upload(
        self, actions: Sequence[Upload], attempt: Attempt, result: PassResult, now: datetime
    ) -> None:
        """Upload a group of files, and record what the server has stored."""
        self._suspects = self._overwrites.suspects(now)
        ready: list[tuple[Upload, Note]] = []
        for action in actions:
            note = attempt(action, partial(self._read, action, now))
            if note:
                ready.append((action, note))
        versions = [(note.path, note.raw) for _, note in ready]
        self._session.record_versions(versions, now)
        uploads: list[_StoredUpload] = []
        try:
            self._send(ready, uploads, attempt, now)
        except BaseException:
            # Fault: the server fails in the middle. What it has stored before is recorded.
            tagged = [upload for upload in uploads if upload.stored.etag]
            self._record_all(tagged, result, now)
            raise
        self._record_all(list(self._with_tags(uploads, attempt)), result, now)

    def _read(self, action: Upload, now: datetime) -> Note:
        """Read a note, and check that what it replaces is unchanged. Raises ActionOutdated."""
        try:
            note = self._session.read_unchanged(action.path, action.hash)
            if action.tag is not None:
                replaceable = self._session.remote.traits.versions
                self._session.check_unchanged(action.path, action.tag, now, replaceable=replaceable)
        except ActionOutdated:
            self._session.end_upload(action.path)
            raise
        return note

    def _send(
        self,
        ready: Sequence[tuple[Upload, Note]],
        uploads: list[_StoredUpload],
        attempt: Attempt,
        now: datetime,
    ) -> None:
        """Send the notes, and add each that the server has stored to `uploads`."""
        tried: set[str] = set()
        settled: set[str] = set()
        for batch in self._bulk.batches(ready, now):
            answers = self._bulk.send(batch, attempt, now)
            tried |= {action.path for action, _ in batch}
            settled |= answers.keys()
            for action, note in batch:
                stored = answers.get(action.path)
                if stored:
                    uploads.append(_StoredUpload(action, note, stored))
        for action, note in ready:
            if action.path in settled:
                continue
            is_tried = action.path in tried
            put = partial(self._put, action, note, now, is_tried=is_tried)
            stored = attempt(action, put)
            if stored:
                uploads.append(_StoredUpload(action, note, stored))

    def _put(self, action: Upload, note: Note, now: datetime, *, is_tried: bool) -> PutResult:
        """Send one note.

        `is_tried`: it was in a bulk upload, and the server did not report it as stored.
        """
        if action.tag is not None:
            self._overwrites.list_before(action.path, now)
        try:
            return self._session.upload(action.path, note.raw, action.tag)
        except RemoteChanged:
            if not is_tried:
                raise
            # Fault: the bulk upload has stored the file after all, perhaps over another one. The
            # next pass compares them.
            raise ActionOutdated from None

    def _with_tags(
        self, uploads: Sequence[_StoredUpload], attempt: Attempt
    ) -> Iterable[_StoredUpload]:
        """Yield the uploads with their tags; those that the server did not report are asked for by folder."""
        yield from (upload for upload in uploads if upload.stored.etag)
        untagged = [upload for upload in uploads if not upload.stored.etag]
        untagged.sort(key=attrgetter("folder"))
        for folder, of_folder in groupby(untagged, key=attrgetter("folder")):
            group = list(of_folder)
            entries: dict[str, Entry] = {}
            if len(group) > FEW:
                entries = self._list(folder, attempt, group)
            for upload in group:
                tagged = attempt(upload.action, partial(self._tagged, upload, entries))
                if tagged:
                    yield tagged

    def _list(
        self, folder: str, attempt: Attempt, group: Sequence[_StoredUpload]
    ) -> dict[str, Entry]:
        """List a folder with several uploads; empty when that fails."""
        listing = attempt(group[0].action, partial(self._session.remote.list, folder))
        return {entry.path: entry for entry in listing.entries} if listing else {}

    def _tagged(self, upload: _StoredUpload, entries: dict[str, Entry]) -> _StoredUpload:
        """An upload with the tag that the server lists. Raises ActionOutdated."""
        path, note = upload.path, upload.note
        entry = entries.get(path) or self._session.remote.look(path)
        # Fault: a proxy answers 200 in place of the server, and the other text on the server has
        # the length of ours. Only the checksum proves that our upload arrived.
        has_checksums = self._session.remote.traits.checksums
        is_proven = not has_checksums or entry.checksum == note.revision
        if entry.size != len(note.raw) or not is_proven:
            raise ActionOutdated
        replaced = upload.stored.replaced
        stored = PutResult(entry.etag, entry.fileid, replaced=replaced)
        return _StoredUpload(upload.action, note, stored)

    def _record_all(
        self, uploads: Sequence[_StoredUpload], result: PassResult, now: datetime
    ) -> None:
        with self._session.state.transaction():
            for upload in uploads:
                self._record(upload, now)
                result.uploaded.append(upload.path)
                result.acted += 1
                if upload.action.note:
                    result.notes.append((upload.path, upload.action.note))

    def _record(self, upload: _StoredUpload, now: datetime) -> None:
        session, path = self._session, upload.path
        raw, stored = upload.note.raw, upload.stored
        was = session.state.base_of(path)
        if upload.is_new:
            self._overwrites.begin(path, upload.note.revision)
        else:
            self._overwrites.remember(self._finished_write(upload, was), now)
        session.record_base(path, raw, stored, now, made=upload.is_new)
        sent = stored_upload(path, raw, hash_of(was), now)
        session.unread.record(replace(sent, modified=stored.modified))
        session.record_rewrite(path, "us", now)

    def _finished_write(self, upload: _StoredUpload, was: BaseNode | None) -> FinishedWrite:
        tag = upload.action.tag
        # A tag of an earlier pass does not prove that the server still has these bytes.
        young = upload.path in self._suspects or not self._session.scanned_server
        replaced = NOTHING
        if isinstance(was, BaseFile) and tag is not None:
            replaced = was
        return FinishedWrite(
            path=upload.path,
            raw=upload.note.raw,
            replaced=replaced,
            stored=upload.stored,
            young=young,
            tag=tag or "",
        )
