"""Many files that go up in one pass: read, kept, sent and recorded in groups, so that the disk is waited for seldom."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Protocol, TypeVar

from vault_memory.remote.contract import Entry, PutResult
from vault_memory.remote.remote_errors import RemoteChanged
from vault_memory.sync.actions import Action, Upload
from vault_memory.sync.apply.bulk_uploads import Bulk
from vault_memory.sync.apply.overwrite_check import OverwriteCheck
from vault_memory.sync.apply.own_writes import NOTHING
from vault_memory.sync.apply.progress import PassResult
from vault_memory.sync.apply.session import ActionOutdated, SyncSession
from vault_memory.sync.trees import BaseFile, hash_of
from vault_memory.vault.reader import Note

TOGETHER = 64
"""Uploads that are recorded at once: so many are looked at again after a crash"""
FEW = 3
"""As many files of one folder are asked for one by one"""

T = TypeVar("T")


class BatchAttempt(Protocol):
    """Does a step of an action, and files what goes wrong with it; None when it did not come to its end."""

    def __call__(self, action: Action, work: Callable[[], T]) -> T | None: ...


@dataclass(frozen=True, slots=True)
class _Gone:
    """A file that the server has taken."""

    action: Upload
    note: Note
    stored: PutResult

    @property
    def folder(self) -> str:
        return self.action.path.rpartition("/")[0]


class UploadBatches:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._bulk = Bulk(session)
        self._overwritten = OverwriteCheck(session)
        self._suspects: frozenset[str] = frozenset()

    def together(
        self,
        actions: Sequence[Upload],
        attempt: BatchAttempt,
        result: PassResult,
        now: datetime,
    ) -> None:
        """All of them as far as it goes. What has arrived is recorded even when the server fails in the middle."""
        self._suspects = self._overwritten.suspects(now)
        ready = [
            (one, note)
            for one in actions
            if (note := attempt(one, partial(self._read, one, now)))
        ]
        self._session.keep_all([(note.path, note.raw) for _, note in ready], now)
        gone: list[_Gone] = []
        try:
            tried, rest = self._send_in_bulk(ready, gone, attempt, now)
            for action, note in rest:
                if stored := attempt(
                    action,
                    partial(self._put, action, note, now, tried=action.path in tried),
                ):
                    gone.append(_Gone(action, note, stored))
        except BaseException:
            self._record([one for one in gone if one.stored.etag], result, now)
            raise
        self._record([*self._with_tags(gone, attempt)], result, now)

    def _read(self, action: Upload, now: datetime) -> Note:
        try:
            note = self._session.read(action.path, action.hash)
            if action.tag is not None:
                replaceable = self._session.remote.traits.versions
                self._session.certain(
                    action.path, action.tag, now, replaceable=replaceable
                )
        except ActionOutdated:
            self._session.sent(action.path)
            raise
        return note

    def _send_in_bulk(
        self,
        ready: Sequence[tuple[Upload, Note]],
        gone: list[_Gone],
        attempt: BatchAttempt,
        now: datetime,
    ) -> tuple[set[str], list[tuple[Upload, Note]]]:
        """Many new notes in few requests. Returns the paths that were sent so, and what is to be sent one by one."""
        tried: set[str] = set()
        settled: set[str] = set()
        for batch in self._bulk.batches(ready, now):
            answers = self._bulk.send(batch, attempt, now)
            tried |= {action.path for action, _ in batch}
            settled |= answers.keys()
            for action, note in batch:
                if stored := answers.get(action.path):
                    gone.append(_Gone(action, note, stored))
        return tried, [
            (action, note) for action, note in ready if action.path not in settled
        ]

    def _put(
        self, action: Upload, note: Note, now: datetime, *, tried: bool
    ) -> PutResult:
        """`tried`: the note was part of a bulk upload, and the server did not say that it stored it."""
        if action.tag is not None and action.path in self._suspects:
            self._overwritten.list_before(action.path, now)
        try:
            return self._session.send(action.path, note.raw, action.tag)
        except RemoteChanged:
            if not tried:
                raise
            # It may be the bulk upload's file after all, written over another one: the next pass compares them.
            raise ActionOutdated from None

    def _with_tags(
        self, gone: Iterable[_Gone], attempt: BatchAttempt
    ) -> Iterable[_Gone]:
        """A server that tells no tag when it stores a file is asked for those of a whole folder."""
        no_progress = [one for one in gone if not one.stored.etag]
        yield from (one for one in gone if one.stored.etag)
        for folder, of_folder in groupby(
            sorted(no_progress, key=lambda one: one.folder), key=lambda one: one.folder
        ):
            group = list(of_folder)
            entries = self._listed(folder, attempt, group) if len(group) > FEW else {}
            for one in group:
                tagged = attempt(one.action, partial(self._tagged, one, entries))
                if tagged:
                    yield tagged

    def _listed(
        self, folder: str, attempt: BatchAttempt, group: Sequence[_Gone]
    ) -> dict[str, Entry]:
        listing = attempt(group[0].action, partial(self._session.remote.list, folder))
        return {entry.path: entry for entry in listing.entries} if listing else {}

    def _tagged(self, one: _Gone, entries: dict[str, Entry]) -> _Gone:
        path = one.action.path
        entry = entries.get(path) or self._session.remote.look(path)
        # Fault: a proxy answers 200 in place of the server, and the text of somebody else there
        # has the length of ours. Only the checksum proves that our upload arrived.
        is_proven = (
            entry.checksum == one.note.revision
            or not self._session.remote.traits.checksums
        )
        if entry.size != len(one.note.raw) or not is_proven:
            raise ActionOutdated
        stored = PutResult(entry.etag, entry.fileid, replaced=one.stored.replaced)
        return _Gone(one.action, one.note, stored)

    def _record(self, gone: Sequence[_Gone], result: PassResult, now: datetime) -> None:
        with self._session.state.transaction():
            for one in gone:
                path, was = (
                    one.action.path,
                    self._session.state.base_of(one.action.path),
                )
                is_new = one.action.tag is None and not one.stored.replaced
                if not is_new:
                    # A tag of the last listing proves the bytes only if the server was asked in this pass.
                    young = path in self._suspects or not self._session.asked
                    replaced = (
                        was
                        if isinstance(was, BaseFile) and one.action.tag is not None
                        else NOTHING
                    )
                    tag = one.action.tag or ""
                    self._overwritten.remember(
                        replaced,
                        one.stored,
                        path,
                        one.note.raw,
                        now,
                        young=young,
                        tag=tag,
                    )
                else:
                    self._overwritten.begin(path, one.note.revision)
                self._session.agree(
                    one.action.path, one.note.raw, one.stored, made=is_new
                )
                self._session.deliveries.record(
                    path, one.note.raw, hash_of(was), now, modified=one.stored.modified
                )
                self._session.rewrote(one.action.path, "us", now)
                result.uploaded.append(one.action.path)
                result.acted += 1
                if one.action.note:
                    result.notes.append((one.action.path, one.action.note))
