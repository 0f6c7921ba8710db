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
from vault_memory.sync.apply.overwrite_check import UNTOLD, Overwritten
from vault_memory.sync.apply.progress import Done
from vault_memory.sync.apply.refused_uploads import Refusals, is_new_there
from vault_memory.sync.apply.session import ActionOutdated, SyncSession
from vault_memory.sync.apply.transfers import Carrying
from vault_memory.sync.apply.upload_batches import TOGETHER, Uploading
from vault_memory.sync.state_db import Sent
from vault_memory.sync.trees import BaseDir, BaseFile
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

logger = logging.getLogger(__name__)

FEW_TRASHED = 8
"""Notes of one pass of which the server is asked once more, each by itself, before they go"""

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Is told how many actions of how many are done"""


class Stays(Exception):
    """A folder cannot go as long as something that is not synced lies in it: nothing was done."""


def untold(done: int, total: int) -> None:
    """Nobody wants to know."""


class Executor:
    """For one vault and one remote."""

    def __init__(self, sides: SyncSession) -> None:
        self._sides = sides
        self._files = Carrying(sides)
        self._uploading = Uploading(sides)
        self._overwritten = Overwritten(sides)
        self._refusals = Refusals(sides.book)
        self._trashed = 0

    def do(
        self,
        actions: Sequence[Action],
        now: datetime,
        progress: Progress = untold,
        done: Done | None = None,
    ) -> Done:
        """All of them as far as it goes. Raises what concerns the whole server, e.g. Unauthorised.

        `done`: what this pass has done before.
        """
        done = Done() if done is None else done
        self._trashed = 0
        uploads = [one for one in actions if isinstance(one, Upload)]
        if uploads:
            with self._sides.book.writing():
                self._sides.book.send(
                    [Sent(one.path, one.hash, 0, one.tag) for one in uploads]
                )
        rest = [one for one in actions if not isinstance(one, Upload)]
        uploads_at = next(
            (at for at, one in enumerate(actions) if isinstance(one, Upload)), 0
        )
        for number, action in enumerate(rest):
            if number == uploads_at:
                self._upload(uploads, done, now, progress, total=len(actions))
            progress(
                number + (len(uploads) if number >= uploads_at else 0), len(actions)
            )
            self._attempt(
                action, partial(self._whole, action, done, now), done=done, now=now
            )
        if uploads_at >= len(rest):
            self._upload(uploads, done, now, progress, total=len(actions))
        self._overwritten.search(done, now)
        self._sides.give_up_old()
        return done

    def _upload(
        self,
        uploads: Sequence[Upload],
        done: Done,
        now: datetime,
        progress: Progress,
        *,
        total: int,
    ) -> None:
        """All that goes up, in groups: their order is of no importance."""
        for start in range(0, len(uploads), TOGETHER):
            progress(min(start, total), total)
            attempt = partial(self._attempt, done=done, now=now)
            self._uploading.together(
                uploads[start : start + TOGETHER], attempt, done, now
            )

    def _whole(self, action: Action, done: Done, now: datetime) -> None:
        self._one(action, done, now)
        done.acted += 1
        if action.note:
            done.notes.append((action.path, action.note))

    def _attempt(
        self, action: Action, work: Callable[[], T], *, done: Done, now: datetime
    ) -> T | None:
        """Do it, and file what goes wrong on this path alone; None then."""
        try:
            return work()
        except Stays:
            logger.debug(
                "`%s` stays: something is in it that is not synced", action.path
            )
        except ActionOutdated:
            done.again.add(action.path)
        except (RemoteChanged, RemoteMissing, ParentMissing, FolderNotEmpty) as error:
            logger.info("%s; it is looked at anew", error.message)
            done.again.add(action.path)
            if not may_have_arrived(self._sides, action.path):
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
                done.refused[action.path] = error.reason
            else:
                done.failed[action.path] = error.message
            if not isinstance(error, OutcomeUnknown | NotUnderstood):
                self._unsent(action)
        except RemoteBusy as error:
            if error.everywhere:
                raise
            done.failed[action.path] = error.message
            self._unsent(action)
        except (VaultError, OSError) as error:
            done.failed[action.path] = (
                error.message if isinstance(error, VaultMemoryError) else str(error)
            )
            self._unsent(action)
        return None

    def _one(self, action: Action, done: Done, now: datetime) -> None:
        match action:
            case Download():
                self._files.download(action, done, now)
            case Merge():
                self._files.merge(action, done, now)
            case Refetch():
                self._look(action, done, now)
            case DeleteRemote():
                self._sides.certain(action.path, action.tag, now)
                self._sides.remote.delete(action.path, expected=action.tag)
                self._sides.forget(action.path)
                done.deleted_remote.append(action.path)
            case TrashLocal():
                self._files.trash(action, now, again=self._trashed < FEW_TRASHED)
                self._trashed += 1
                done.deleted_local.append(action.path)
            case (
                MakeRemoteDir() | MakeLocalDir() | RemoveRemoteDir() | RemoveLocalDir()
            ):
                self._folder(action)
            case MoveRemote() | MoveLocal() | MoveBase():
                self._move(action)
            case KeepBoth():
                self._files.keep_both(action, done, now)
            case RecordInSync() | Refresh():
                self._adopt(action, now)
            case ForgetBase():
                with self._sides.book.writing():
                    self._sides.book.forget(action.path)

    def _look(self, action: Refetch, done: Done, now: datetime) -> None:
        fetched = self._sides.remote.get(action.path, max_bytes=self._sides.largest)
        self._sides.fetched(action.path, fetched)
        if fetched.etag != action.tag or not fetched.confirmed:
            return
        was = self._sides.book.agreed(action.path)
        with self._sides.book.writing():
            self._sides.book.calm(action.path)
            ours = self._sides.book.uploaded_lately(action.path, now.timestamp())
        other = isinstance(was, BaseFile) and was.hash != revision_of(fetched.raw)
        if other and ours and not self._sides.remote.traits.versions:
            done.notes.append((action.path, UNTOLD))

    def _folder(
        self, action: MakeRemoteDir | MakeLocalDir | RemoveRemoteDir | RemoveLocalDir
    ) -> None:
        match action:
            case MakeRemoteDir():
                stored = self._sides.remote.mkcol(action.path)
                with self._sides.book.writing():
                    self._sides.book.agree(action.path, BaseDir("", stored.fileid))
                    self._sides.book.entry(
                        Entry(action.path, True, stored.etag, fileid=stored.fileid)
                    )
            case MakeLocalDir():
                self._sides.disk.make_folder(action.path)
                with self._sides.book.writing():
                    self._sides.book.agree(action.path, BaseDir())
            case RemoveRemoteDir():
                self._sides.remote.rmcol(action.path)
                self._sides.forget(action.path)
            case RemoveLocalDir():
                if not self._sides.disk.remove_folder(action.path):
                    raise Stays
                self._sides.forget(action.path)

    def _move(self, action: MoveRemote | MoveLocal | MoveBase) -> None:
        tag: str | None = None
        if isinstance(action, MoveRemote):
            stored = self._sides.remote.move(
                action.path, action.to, expected=action.tag or None
            )
            tag = stored.etag if action.tag and action.unedited else None
        elif isinstance(action, MoveLocal):
            self._sides.disk.rename(action.path, action.to, hashed=action.hash)
        record = action.path if isinstance(action, MoveBase) else action.record
        with self._sides.book.writing():
            if isinstance(
                action, MoveRemote
            ):  # after a rename by others another file may lie at the path by now
                self._sides.book.drop_entry(action.path)
            if not record:
                return
            self._sides.book.move(record, action.to)
            was = self._sides.book.agreed(action.to)
            if tag and isinstance(was, BaseFile):
                self._sides.book.agree(
                    action.to,
                    BaseFile(was.hash, tag, was.local_id, was.remote_id),
                    racy=True,
                )

    def _adopt(self, action: RecordInSync | Refresh, now: datetime) -> None:
        if isinstance(action.base, BaseFile) and isinstance(action, RecordInSync):
            note = self._sides.local.read(action.path)
            if isinstance(note, Note) and note.revision == action.base.hash:
                self._sides.keep(action.path, note.raw, now)
        with self._sides.book.writing():
            racy = (
                action.path in self._sides.young
                or action.path in self._sides.book.racy()
            )
            self._sides.book.agree(action.path, action.base, racy=racy)
            self._sides.book.sent(action.path)

    def _unsent(self, action: Action) -> None:
        if isinstance(action, Upload | Merge):
            self._sides.sent(action.path)
