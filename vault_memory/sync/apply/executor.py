"""Does what a plan says, one action after another. What an action rests on is looked at again at the last moment.

What is no longer as it was is left for the next pass. Every local file is swapped in by the vault's writer, and the
versions of what travels are kept, so that the next merge has a text to start from.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from vault_memory.errors import VaultError, VaultMemoryError
from vault_memory.remote.contract import Entry
from vault_memory.remote.remote_errors import (
    FolderNotEmpty,
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    MoveBase,
    MoveLocal,
    MoveRemote,
    RecordInSync,
    Refetch,
    Refresh,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
)
from vault_memory.sync.apply.interrupted_uploads import may_have_arrived
from vault_memory.sync.apply.overwrite_check import UNTOLD, OverwriteCheck
from vault_memory.sync.apply.progress import PassResult
from vault_memory.sync.apply.refused_uploads import Refusals, is_new_there
from vault_memory.sync.apply.session import ActionOutdated, SyncSession
from vault_memory.sync.apply.transfers import FileTransfers
from vault_memory.sync.apply.upload_batches import TOGETHER, UploadBatches
from vault_memory.sync.state_db import OpenUpload
from vault_memory.sync.trees import BaseDir, BaseFile
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

logger = logging.getLogger(__name__)

FEW_TRASHED = 8
"""Notes of one pass of which the server is asked once more, each by itself, before they go"""

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Is told how many actions of how many are done"""


class LocalFolderNotEmpty(Exception):
    """A folder cannot go as long as something that is not synced lies in it: nothing was done."""


def no_progress(completed: int, total: int) -> None:
    """Nobody wants to know."""


class Executor:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._files = FileTransfers(session)
        self._uploading = UploadBatches(session)
        self._overwritten = OverwriteCheck(session)
        self._refusals = Refusals(session.state)
        self._trashed = 0

    def execute(
        self,
        actions: Sequence[Action],
        now: datetime,
        progress: Progress = no_progress,
        result: PassResult | None = None,
    ) -> PassResult:
        """All of them as far as it goes. Raises what concerns the whole server, e.g. Unauthorised.

        `result`: what this pass has done before.
        """
        result = PassResult() if result is None else result
        self._trashed = 0
        uploads = [one for one in actions if isinstance(one, Upload)]
        if uploads:
            with self._session.state.transaction():
                self._session.state.begin_uploads(
                    [OpenUpload(one.path, one.hash, 0, one.tag) for one in uploads]
                )
        rest = [one for one in actions if not isinstance(one, Upload)]
        uploads_at = next(
            (at for at, one in enumerate(actions) if isinstance(one, Upload)), 0
        )
        for number, action in enumerate(rest):
            if number == uploads_at:
                self._upload(uploads, result, now, progress, total=len(actions))
            progress(
                number + (len(uploads) if number >= uploads_at else 0), len(actions)
            )
            self._attempt(
                action,
                partial(self._whole, action, result, now),
                result=result,
                now=now,
            )
        if uploads_at >= len(rest):
            self._upload(uploads, result, now, progress, total=len(actions))
        self._overwritten.search(result, now)
        self._session.give_up_old()
        return result

    def _upload(
        self,
        uploads: Sequence[Upload],
        result: PassResult,
        now: datetime,
        progress: Progress,
        *,
        total: int,
    ) -> None:
        """All that goes up, in groups: their order is of no importance."""
        for start in range(0, len(uploads), TOGETHER):
            progress(min(start, total), total)
            attempt = partial(self._attempt, result=result, now=now)
            self._uploading.together(
                uploads[start : start + TOGETHER], attempt, result, now
            )

    def _whole(self, action: Action, result: PassResult, now: datetime) -> None:
        self._one(action, result, now)
        result.acted += 1
        if action.note:
            result.notes.append((action.path, action.note))

    def _attempt(
        self,
        action: Action,
        work: Callable[[], T],
        *,
        result: PassResult,
        now: datetime,
    ) -> T | None:
        """Do it, and file what goes wrong on this path alone; None then."""
        try:
            return work()
        except LocalFolderNotEmpty:
            logger.debug(
                "`%s` stays: something is in it that is not synced", action.path
            )
        except ActionOutdated:
            result.outdated.add(action.path)
        except (RemoteChanged, RemoteMissing, ParentMissing, FolderNotEmpty) as error:
            logger.info("%s; it is looked at anew", error.message)
            result.outdated.add(action.path)
            if not may_have_arrived(self._session, action.path):
                self._unsent(action)
        except (
            Refused,
            RemoteLocked,
            RemoteFull,
            NotUnderstood,
            OutcomeUnknown,
        ) as error:
            if isinstance(error, Refused) and error.lasting and is_new_there(action):
                self._refusals.note(action, error.reason, now)
                result.refused[action.path] = error.reason
            else:
                result.failed[action.path] = error.message
            if not isinstance(error, OutcomeUnknown | NotUnderstood):
                self._unsent(action)
        except RemoteBusy as error:
            if error.everywhere:
                raise
            result.failed[action.path] = error.message
            self._unsent(action)
        except (VaultError, OSError) as error:
            result.failed[action.path] = (
                error.message if isinstance(error, VaultMemoryError) else str(error)
            )
            self._unsent(action)
        return None

    def _one(self, action: Action, result: PassResult, now: datetime) -> None:
        match action:
            case Download():
                self._files.download(action, result, now)
            case Merge():
                self._files.merge(action, result, now)
            case Refetch():
                self._look(action, result, now)
            case DeleteRemote():
                self._session.certain(action.path, action.tag, now)
                self._session.remote.delete(action.path, expected=action.tag)
                self._session.forget(action.path)
                result.deleted_remote.append(action.path)
            case TrashLocal():
                self._files.trash(action, now, again=self._trashed < FEW_TRASHED)
                self._trashed += 1
                result.deleted_local.append(action.path)
            case (
                MakeRemoteDir() | MakeLocalDir() | RemoveRemoteDir() | RemoveLocalDir()
            ):
                self._folder(action)
            case MoveRemote() | MoveLocal() | MoveBase():
                self._move(action)
            case KeepBoth():
                self._files.keep_both(action, result, now)
            case RecordInSync() | Refresh():
                self._adopt(action, now)
            case ForgetBase():
                with self._session.state.transaction():
                    self._session.state.forget(action.path)

    def _look(self, action: Refetch, result: PassResult, now: datetime) -> None:
        fetched = self._session.remote.get(action.path, max_bytes=self._session.largest)
        self._session.fetched(action.path, fetched)
        if fetched.etag != action.tag or not fetched.confirmed:
            return
        was = self._session.state.base_of(action.path)
        with self._session.state.transaction():
            self._session.state.clear_racy(action.path)
            ours = self._session.state.uploaded_lately(action.path, now.timestamp())
        other = isinstance(was, BaseFile) and was.hash != revision_of(fetched.raw)
        if other and ours and not self._session.remote.traits.versions:
            result.notes.append((action.path, UNTOLD))

    def _folder(
        self, action: MakeRemoteDir | MakeLocalDir | RemoveRemoteDir | RemoveLocalDir
    ) -> None:
        match action:
            case MakeRemoteDir():
                stored = self._session.remote.mkcol(action.path)
                with self._session.state.transaction():
                    self._session.state.set_base(
                        action.path, BaseDir("", stored.fileid)
                    )
                    self._session.state.store_entry(
                        Entry(action.path, True, stored.etag, fileid=stored.fileid)
                    )
            case MakeLocalDir():
                self._session.disk.make_folder(action.path)
                with self._session.state.transaction():
                    self._session.state.set_base(action.path, BaseDir())
            case RemoveRemoteDir():
                self._session.remote.rmcol(action.path)
                self._session.forget(action.path)
            case RemoveLocalDir():
                if not self._session.disk.remove_folder(action.path):
                    raise LocalFolderNotEmpty
                self._session.forget(action.path)

    def _move(self, action: MoveRemote | MoveLocal | MoveBase) -> None:
        tag: str | None = None
        if isinstance(action, MoveRemote):
            stored = self._session.remote.move(
                action.path, action.to, expected=action.tag or None
            )
            tag = stored.etag if action.tag and action.unedited else None
        elif isinstance(action, MoveLocal):
            self._session.disk.rename(action.path, action.to, hashed=action.hash)
        record = action.path if isinstance(action, MoveBase) else action.record
        with self._session.state.transaction():
            if isinstance(
                action, MoveRemote
            ):  # after a rename by others another file may lie at the path by now
                self._session.state.delete_entry(action.path)
            if not record:
                return
            self._session.state.move(record, action.to)
            was = self._session.state.base_of(action.to)
            if tag and isinstance(was, BaseFile):
                self._session.state.set_base(
                    action.to,
                    BaseFile(was.hash, tag, was.local_id, was.remote_id),
                    racy=True,
                )

    def _adopt(self, action: RecordInSync | Refresh, now: datetime) -> None:
        if isinstance(action.base, BaseFile) and isinstance(action, RecordInSync):
            note = self._session.local.read(action.path)
            if isinstance(note, Note) and note.revision == action.base.hash:
                self._session.keep(action.path, note.raw, now)
        with self._session.state.transaction():
            racy = (
                action.path in self._session.young
                or action.path in self._session.state.racy()
            )
            self._session.state.set_base(action.path, action.base, racy=racy)
            self._session.state.end_upload(action.path)

    def _unsent(self, action: Action) -> None:
        if isinstance(action, Upload | Merge):
            self._session.sent(action.path)
