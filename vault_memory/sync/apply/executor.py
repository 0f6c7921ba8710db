"""Executes the actions of a plan, one after another. Each action checks its preconditions right before.

A path that has changed since the plan is left for the next pass. The vault's writer replaces every
local file. The versions of all transferred texts are recorded, as bases of later merges.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
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
from vault_memory.sync.apply.folder_deletes import FolderDeletes, FolderDeletion
from vault_memory.sync.apply.interrupted_uploads import may_have_arrived
from vault_memory.sync.apply.overwrite_check import UNTOLD, OverwriteCheck
from vault_memory.sync.apply.session import ActionOutdated, SyncSession
from vault_memory.sync.apply.transfers import FileTransfers
from vault_memory.sync.apply.upload_batches import TOGETHER, UploadBatches
from vault_memory.sync.pass_report import PassResult, Progress, no_progress
from vault_memory.sync.plan.name_clashes import moving
from vault_memory.sync.state_db import YOUNG, OpenUpload, SyncState
from vault_memory.sync.trees import Base, BaseDir, BaseFile, File, Node, within
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

logger = logging.getLogger(__name__)

LEFT_ALONE_SECONDS = 24 * 3600.0
"""How long a refused name is left alone"""
_REFUSED = "refused "
"""Key prefix of the sync state: what the server refused; the path follows"""
FEW_TRASHED = 8
"""So many notes of one pass are moved to the trash only after the server was asked for each again"""

T = TypeVar("T")


class LocalFolderNotEmpty(Exception):
    """A folder stays, since it contains files that are not synced."""


class Refusals:
    """New files and folders that the server refused for good, until they change or a day has passed.

    Without this, one name that a server never accepts would fail each pass, and cost a request each time.
    """

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def note(self, action: Action, reason: str, now: datetime) -> None:
        """Record that the server refused this."""
        revision = action.hash if isinstance(action, Upload) else ""
        with self._state.transaction():
            self._state.set_meta(
                _REFUSED + action.path, {"hash": revision, "reason": reason, "at": now.timestamp()}
            )

    def lasting(self, nodes: Mapping[str, Node], now: float) -> dict[str, str]:
        """Paths that the server would refuse again, and why. Forgets the paths that have changed since."""
        lasting = {}
        for name, fact in self._state.metas_with_prefix(_REFUSED).items():
            path = name.removeprefix(_REFUSED)
            is_same = _hash_of(nodes.get(path)) == fact["hash"]
            if is_same and 0 <= now - fact["at"] < LEFT_ALONE_SECONDS:
                lasting[path] = str(fact["reason"])
            else:
                with self._state.transaction():
                    self._state.delete_meta(name)
        return lasting


class Executor:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._files = FileTransfers(session)
        self._uploads = UploadBatches(session)
        self._overwrites = OverwriteCheck(session)
        self._folder_deletes = FolderDeletes(session)
        self._refusals = Refusals(session.state)
        self._trashed = 0

    def execute(
        self,
        actions: Sequence[Action],
        now: datetime,
        progress: Progress = no_progress,
        result: PassResult | None = None,
    ) -> PassResult:
        """Execute all actions; a failed one does not stop the others.

        `result`: what this pass has done before. Raises RemoteErrors that concern the whole server.
        """
        result = PassResult() if result is None else result
        self._trashed = 0
        self._folder_deletes.begin(actions)
        uploads = [action for action in actions if isinstance(action, Upload)]
        other_actions = [action for action in actions if not isinstance(action, Upload)]
        first_upload = next(
            (index for index, action in enumerate(actions) if isinstance(action, Upload)), 0
        )
        self._begin_uploads(uploads)
        total = len(actions)
        for number, action in enumerate(other_actions[:first_upload]):
            progress(number, total)
            self._execute_one(action, result, now)
        self._upload(uploads, result, now, progress, total=total)
        for number, action in enumerate(other_actions[first_upload:], first_upload):
            progress(number + len(uploads), total)
            self._execute_one(action, result, now)
        self._overwrites.search(result, now)
        self._session.discard_stale_writes()
        return result

    def _begin_uploads(self, uploads: Sequence[Upload]) -> None:
        """Record the uploads, so that a pass after a crash finds out their outcome."""
        if not uploads:
            return
        rows = [OpenUpload(action.path, action.hash, 0, action.tag) for action in uploads]
        with self._session.state.transaction():
            self._session.state.begin_uploads(rows)

    def _upload(
        self,
        uploads: Sequence[Upload],
        result: PassResult,
        now: datetime,
        progress: Progress,
        *,
        total: int,
    ) -> None:
        """Upload in groups, in any order."""
        attempt = partial(self._attempt, result=result, now=now)
        for start in range(0, len(uploads), TOGETHER):
            progress(min(start, total), total)
            group = uploads[start : start + TOGETHER]
            self._uploads.upload(group, attempt, result, now)

    def _execute_one(self, action: Action, result: PassResult, now: datetime) -> None:
        """Execute one action, or the deletion of a whole folder that begins with it."""
        deletion = self._folder_deletes.of(action)
        if deletion is None:
            self._execute_alone(action, result, now)
        elif action is deletion.contents[0]:
            self._delete_whole(deletion, result, now)

    def _execute_alone(self, action: Action, result: PassResult, now: datetime) -> None:
        """Execute one action, and record its error."""

        def work() -> None:
            self._run(action, result, now)
            result.acted += 1
            if action.note:
                result.notes.append((action.path, action.note))

        self._attempt(action, work, result=result, now=now)

    def _delete_whole(self, deletion: FolderDeletion, result: PassResult, now: datetime) -> None:
        """Delete a folder of the server in one request, or else one file after another."""

        def work() -> bool:
            return self._folder_deletes.delete(deletion, now)

        is_gone = self._attempt(deletion.contents[-1], work, result=result, now=now)
        if is_gone:
            result.acted += len(deletion.contents)
            result.deleted_remote += [action.path for action in deletion.files]
            result.notes += [(each.path, each.note) for each in deletion.files if each.note]
        elif is_gone is False:
            for action in deletion.contents:
                self._execute_alone(action, result, now)

    def _attempt(
        self, action: Action, work: Callable[[], T], *, result: PassResult, now: datetime
    ) -> T | None:
        """Run a step of an action. Records an error that concerns only its path, and returns None then."""
        path = action.path
        try:
            return work()
        except LocalFolderNotEmpty:
            logger.debug("`%s` stays: something is in it that is not synced", path)
        except ActionOutdated:
            result.outdated.add(path)
        except (RemoteChanged, RemoteMissing, ParentMissing, FolderNotEmpty) as error:
            logger.info("%s; the next pass compares it again", error.message)
            self._record_outdated(action, result)
        except Refused as error:
            self._record_refusal(action, error, result, now)
            self._end_upload(action)
        except (NotUnderstood, OutcomeUnknown) as error:
            # The upload stays open: the next pass finds out its outcome.
            result.failed[path] = error.message
        except (RemoteLocked, RemoteFull, RemoteBusy) as error:
            if isinstance(error, RemoteBusy) and error.everywhere:
                raise
            result.failed[path] = error.message
            self._end_upload(action)
        except (VaultError, OSError) as error:
            result.failed[path] = _reason(error)
            self._end_upload(action)
        return None

    def _record_outdated(self, action: Action, result: PassResult) -> None:
        result.outdated.add(action.path)
        if not may_have_arrived(self._session, action.path):
            self._end_upload(action)

    def _record_refusal(
        self, action: Action, error: Refused, result: PassResult, now: datetime
    ) -> None:
        if error.lasting and _is_new_there(action):
            self._refusals.note(action, error.reason, now)
            result.refused[action.path] = error.reason
        else:
            result.failed[action.path] = error.message

    def _run(self, action: Action, result: PassResult, now: datetime) -> None:
        match action:
            case Download() | Merge() | KeepBoth() | TrashLocal() | DeleteRemote():
                self._run_on_file(action, result, now)
            case MakeRemoteDir() | MakeLocalDir() | RemoveRemoteDir() | RemoveLocalDir():
                self._run_on_folder(action)
            case MoveRemote() | MoveLocal() | MoveBase():
                self._move(action, result)
            case Refetch():
                self._refetch(action, result, now)
            case RecordInSync() | Refresh():
                self._record_in_sync(action, now)
            case ForgetBase():
                with self._session.state.transaction():
                    self._session.state.forget(action.path)

    def _run_on_file(
        self,
        action: Download | Merge | KeepBoth | TrashLocal | DeleteRemote,
        result: PassResult,
        now: datetime,
    ) -> None:
        match action:
            case Download():
                self._files.download(action, result, now)
            case Merge():
                self._files.merge(action, result, now)
            case KeepBoth():
                self._files.keep_both(action, result, now)
            case TrashLocal():
                self._files.trash(action, now, again=self._trashed < FEW_TRASHED)
                self._trashed += 1
                result.deleted_local.append(action.path)
            case DeleteRemote():
                self._session.check_unchanged(action.path, action.tag, now)
                self._session.remote.delete(action.path, expected=action.tag)
                self._session.forget_deleted([action.path])
                result.deleted_remote.append(action.path)

    def _refetch(self, action: Refetch, result: PassResult, now: datetime) -> None:
        """Fetch a file to find out whether its tag hides other bytes."""
        session = self._session
        fetched = session.remote.get(action.path, max_bytes=session.largest)
        session.remember_fetched(action.path, fetched)
        if fetched.etag != action.tag:
            return
        if not fetched.confirmed and session.is_doubtful(action.path, action.tag, now):
            return
        was = session.state.base_of(action.path)
        with session.state.transaction():
            session.state.clear_racy(action.path)
            is_ours = session.state.uploaded_lately(action.path, now.timestamp())
        is_other = isinstance(was, BaseFile) and was.hash != revision_of(fetched.raw)
        if is_other and is_ours and not session.remote.traits.versions:
            result.notes.append((action.path, UNTOLD))

    def _run_on_folder(
        self, action: MakeRemoteDir | MakeLocalDir | RemoveRemoteDir | RemoveLocalDir
    ) -> None:
        match action:
            case MakeRemoteDir():
                stored = self._session.remote.mkcol(action.path)
                # Fault: a folder that is renamed before the next pass would not be known again.
                base = BaseDir(self._session.disk.id_of(action.path), stored.fileid)
                entry = Entry(action.path, True, stored.etag, fileid=stored.fileid)
                with self._session.state.transaction():
                    self._session.state.set_base(action.path, base)
                    self._session.state.store_entry(entry)
                    self._session.state.clear_folder_tags(action.path)
            case MakeLocalDir():
                self._session.disk.make_folder(action.path)
                with self._session.state.transaction():
                    local_id = self._session.disk.id_of(action.path)
                    self._session.state.set_base(action.path, BaseDir(local_id))
            case RemoveRemoteDir():
                self._session.remote.rmcol(action.path)
                self._session.forget_deleted([action.path])
            case RemoveLocalDir():
                if not self._session.disk.remove_folder(action.path):
                    raise LocalFolderNotEmpty
                self._session.forget(action.path)

    def _move(self, action: MoveRemote | MoveLocal | MoveBase, result: PassResult) -> None:
        state = self._session.state
        tag = ""
        if isinstance(action, MoveRemote):
            tag = self._move_remote(action)
        elif isinstance(action, MoveLocal):
            self._session.disk.rename(action.path, action.to, hashed=action.hash)
        record = action.path if isinstance(action, MoveBase) else action.record
        with state.transaction():
            # Fault: after a rename by another device, a new file may exist at the old path. So only
            # a rename by this device moves the entry.
            if isinstance(action, MoveRemote):
                state.move_entries(action.path, action.to)
            if not record:
                return
            renamed = _files_at(record, state.base())
            state.move(record, action.to)
            was = state.base_of(action.to)
            if tag and isinstance(was, BaseFile):
                base = BaseFile(was.hash, tag, was.local_id, was.remote_id)
                state.set_base(action.to, base, racy=YOUNG)
        if not isinstance(action, MoveBase) and not moving(action.to):
            _count_renamed(action, renamed, result)

    def _move_remote(self, action: MoveRemote) -> str:
        """Rename on the server. Returns the new tag of an unedited file, else ""."""
        stored = self._session.remote.move(action.path, action.to, expected=action.tag or None)
        return stored.etag if action.tag and action.unedited else ""

    def _record_in_sync(self, action: RecordInSync | Refresh, now: datetime) -> None:
        session, state, path = self._session, self._session.state, action.path
        if isinstance(action.base, BaseFile) and isinstance(action, RecordInSync):
            note = session.local.read(path)
            if isinstance(note, Note) and note.revision == action.base.hash:
                session.record_version(path, note.raw, now)
        with state.transaction():
            is_racy = path in session.young or path in state.racy()
            state.set_base(path, action.base, racy=YOUNG if is_racy else 0)
            state.end_upload(path)

    def _end_upload(self, action: Action) -> None:
        """Record that an upload has failed: its outcome need not be found out."""
        if isinstance(action, Upload | Merge):
            self._session.end_upload(action.path)


def _count_renamed(
    action: MoveRemote | MoveLocal, files: Sequence[str], result: PassResult
) -> None:
    """Count a rename. A folder counts as the files in it."""
    is_local = isinstance(action, MoveLocal)
    renamed = result.renamed_local if is_local else result.renamed_remote
    renamed.extend(files)
    result.acted += max(0, len(files) - 1)


def _files_at(top: str, base: Base) -> list[str]:
    """The file at a path, or the files below it."""
    paths = (path for path, node in base.items() if isinstance(node, BaseFile))
    return [path for path in paths if within(path, top)]


def _reason(error: VaultError | OSError) -> str:
    return error.message if isinstance(error, VaultMemoryError) else str(error)


def _is_new_there(action: Action) -> bool:
    """Whether the action creates a file or folder on the server."""
    return isinstance(action, MakeRemoteDir) or (isinstance(action, Upload) and action.tag is None)


def _hash_of(node: Node | None) -> str | None:
    """The hash of a file, "" for a folder; None for a missing path."""
    if node is None:
        return None
    return node.hash if isinstance(node, File) else ""
