"""Does what a plan says, one action after another. What an action rests on is looked at again at the last moment.

What is no longer as it was is left for the next pass. Every local file is swapped in by the vault's writer, and the
versions of what travels are kept, so that the next merge has a text to start from.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from vault_memory.errors import VaultError, VaultMemoryError
from vault_memory.markdown import merge
from vault_memory.remote import (
    Entry,
    Fetched,
    FolderNotEmpty,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    Remote,
    RemoteBusy,
    RemoteChanged,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    Stored,
)
from vault_memory.sync.actions import (
    Action,
    Adopt,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    Look,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    MoveBase,
    MoveLocal,
    MoveRemote,
    Refresh,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
)
from vault_memory.sync.book import Book, Sent
from vault_memory.sync.disk import Disk
from vault_memory.sync.local import Local
from vault_memory.sync.trees import BaseDir, BaseFile
from vault_memory.vault import By, Note, Writer, half_saved, merge_records, nearest, revision_of

logger = logging.getLogger(__name__)

TEXT = (".md",)
RECORDS = (".jsonl",)
VERSIONS = 60
"""How many earlier versions may have been what the other side started from"""

HOLD_SECONDS = 120.0
"""For which a text on the server that looks cut off is left to the device that sent it"""

Writing = Callable[[], AbstractContextManager[Writer]]


class Again(Exception):
    """Something is no longer as it was when the plan was made: the path is looked at anew."""


@dataclass(slots=True)
class Done:
    """What was done in a pass."""

    uploaded: list[str] = field(default_factory=list)
    downloaded: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    deleted_local: list[str] = field(default_factory=list)
    deleted_remote: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    """copies that were made because two texts could not become one"""
    failed: dict[str, str] = field(default_factory=dict)
    """paths on which something could not be done, and why"""
    again: set[str] = field(default_factory=set)
    """paths to be looked at anew"""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """for a person to review: path and text"""
    acted: int = 0


class Acting:
    """For one vault and one remote."""

    def __init__(self, local: Local, remote: Remote, book: Book, writing: Writing, disk: Disk, *, largest: int) -> None:
        self._local, self._remote, self._book, self._writing, self._disk = local, remote, book, writing, disk
        self._largest = largest
        self._patient: set[str] = set()
        self.young: frozenset[str] = frozenset()
        """paths whose tags, as listed in this pass, may come to stand for other bytes"""

    def do(self, actions: Sequence[Action], now: datetime) -> Done:
        """All of them as far as it goes. Raises what concerns the whole server, e.g. Unauthorised."""
        done = Done()
        sizes = [Sent(one.path, one.hash, 0, one.tag) for one in actions if isinstance(one, Upload)]
        if sizes:
            with self._book.writing():
                self._book.send(sizes)
        for action in actions:
            try:
                self._one(action, done, now)
                done.acted += 1
                if action.note:
                    done.notes.append((action.path, action.note))
            except Again:
                done.again.add(action.path)
            except (RemoteChanged, RemoteMissing, ParentMissing, FolderNotEmpty) as error:
                logger.info("%s; it is looked at anew", error.message)
                done.again.add(action.path)
                self._unsent(action)
            except (Refused, RemoteLocked, RemoteFull, OutcomeUnknown) as error:
                done.failed[action.path] = error.message
                if not isinstance(error, OutcomeUnknown):
                    self._unsent(action)
            except RemoteBusy as error:
                if error.everywhere:
                    raise
                done.failed[action.path] = error.message
                self._unsent(action)
            except (VaultError, OSError) as error:
                done.failed[action.path] = error.message if isinstance(error, VaultMemoryError) else str(error)
                self._unsent(action)
        self._give_up_old()
        return done

    def repair(self, now: datetime) -> dict[str, str]:
        """Find out what became of uploads without an answer: ours, our own half of one, or somebody else's.

        A beginning of what we sent is written anew; it is never taken for an edit. Returns what is still open.
        """
        still: dict[str, str] = {}
        for sent in self._book.unsettled():
            try:
                self._settle(sent, now)
            except (RemoteLocked, RemoteBusy, OutcomeUnknown) as error:
                still[sent.path] = error.message
            except (RemoteChanged, RemoteMissing, ParentMissing, Refused, RemoteFull) as error:
                logger.info("%s; it is looked at anew", error.message)
                self._sent(sent.path)
        return still

    def _settle(self, sent: Sent, now: datetime) -> None:
        ours = self._bytes_of(sent)
        try:
            there = self._remote.get(sent.path, max_bytes=self._largest)
        except RemoteMissing:
            self._sent(sent.path)
            return
        if revision_of(there.raw) == sent.hash:
            self._agree(sent.path, there.raw, Stored(there.etag, confirmed=there.confirmed))
        elif ours is not None and ours.startswith(there.raw) and there.etag != sent.tag:
            self._agree(sent.path, ours, self._remote.put(sent.path, ours, expected=there.etag))
        self._sent(sent.path)

    def _bytes_of(self, sent: Sent) -> bytes | None:
        """What was to be uploaded, if it is still to be had."""
        note = self._local.read(sent.path)
        if isinstance(note, Note) and note.revision == sent.hash:
            return note.raw
        with self._writing() as writer:
            return writer.snapshots.bytes_of(sent.hash)

    def _one(self, action: Action, done: Done, now: datetime) -> None:
        match action:
            case Upload():
                self._upload(action, done, now)
            case Download():
                self._download(action, done, now)
            case Merge():
                self._merge(action, done, now)
            case Look():
                fetched = self._remote.get(action.path, max_bytes=self._largest)
                with self._book.writing():
                    self._book.fetched(action.path, fetched.etag, revision_of(fetched.raw))
                    if fetched.etag == action.tag and fetched.confirmed:
                        self._book.calm(action.path)
            case DeleteRemote():
                self._remote.delete(action.path, expected=action.tag)
                self._forget(action.path)
                done.deleted_remote.append(action.path)
            case TrashLocal():
                self._trash(action, now)
                done.deleted_local.append(action.path)
            case MakeRemoteDir() | MakeLocalDir() | RemoveRemoteDir() | RemoveLocalDir():
                self._folder(action)
            case MoveRemote() | MoveLocal() | MoveBase():
                self._move(action)
            case KeepBoth():
                self._keep_both(action, done, now)
            case Adopt() | Refresh():
                self._adopt(action, now)
            case ForgetBase():
                with self._book.writing():
                    self._book.forget(action.path)

    # files

    def _upload(self, action: Upload, done: Done, now: datetime) -> None:
        note = self._read(action.path, action.hash)
        self._keep(action.path, note.raw, now)
        self._agree(action.path, note.raw, self._remote.put(action.path, note.raw, expected=action.tag))
        self._rewrote(action.path, "us", now)
        done.uploaded.append(action.path)

    def _download(self, action: Download, done: Done, now: datetime) -> None:
        fetched = self._fetch(action.path, now)
        if self._put(action.path, fetched.raw, action.hash, now) == "copied":
            done.conflicts.append(action.path)
            raise Again
        self._agree(action.path, fetched.raw, _as_stored(fetched))
        self._rewrote(action.path, "them", now)
        done.downloaded.append(action.path)

    def _merge(self, action: Merge, done: Done, now: datetime) -> None:
        note = self._read(action.path, action.hash)
        fetched = self._fetch(action.path, now)
        self._keep(action.path, note.raw, now)
        if fetched.raw == note.raw:
            self._agree(action.path, note.raw, _as_stored(fetched))
            return
        joined = self._joined(action, note.raw, fetched.raw, now)
        if joined is None:
            self._part(action, fetched, done, now)
            return
        self._keep(action.path, fetched.raw, now, by="sync")
        self._keep(action.path, note.raw, now)
        if joined != note.raw and self._put(action.path, joined, action.hash, now) == "copied":
            raise Again
        self._agree(action.path, fetched.raw, _as_stored(fetched))
        self._rewrote(action.path, "them", now)
        if joined != fetched.raw and action.upload:
            with self._book.writing():
                self._book.send([Sent(action.path, revision_of(joined), len(joined), fetched.etag)])
            self._agree(action.path, joined, self._remote.put(action.path, joined, expected=fetched.etag))
        done.merged.append(action.path)

    def _part(self, action: Merge, fetched: Fetched, done: Done, now: datetime) -> None:
        """Two texts that cannot become one: the server's keeps the name, the local one lies beside it."""
        self._disk.rename(action.path, action.copy, hashed=action.hash)
        done.conflicts.append(action.copy)
        done.notes.append((action.path, f"it was changed on both sides; what was here is `{action.copy}`"))
        self._put(action.path, fetched.raw, None, now)
        self._agree(action.path, fetched.raw, _as_stored(fetched))

    def _fetch(self, path: str, now: datetime) -> Fetched:
        """What the server holds; what looks like the first part of an upload is believed when it stays so."""
        fetched = self._remote.get(path, max_bytes=self._largest)
        was = self._book.agreed(path)
        with self._writing() as writer:
            last = writer.snapshots.bytes_of(was.hash) if isinstance(was, BaseFile) else None
        if _cut_off(fetched.raw, last):
            with self._book.writing():
                since = self._book.doubted(path, fetched.etag, now)
            if now.timestamp() - since < HOLD_SECONDS:
                raise Again
        with self._book.writing():
            self._book.fetched(path, fetched.etag, revision_of(fetched.raw))
        return fetched

    def _joined(self, action: Merge, mine: bytes, its: bytes, now: datetime) -> bytes | None:
        """One text out of two, or None where that cannot be."""
        if action.path.endswith(RECORDS):
            return merge_records([mine, its])
        if not action.path.endswith(TEXT):
            return None
        with self._writing() as writer:
            snapshots = writer.snapshots
            base = snapshots.bytes_of(action.base)
            if base is None:
                chain = snapshots.chain(action.path)[1 : VERSIONS + 1]
                texts = {one.revision: snapshots.bytes_of(one.revision) or b"" for one in chain}
                base = texts.get(nearest(its, texts.items()) or "") if action.base else None
        return merge(base, mine, its, between_people=True, date=f"{now:%Y-%m-%d}").result

    def _trash(self, action: TrashLocal, now: datetime) -> None:
        self._read(action.path, action.hash)
        with self._writing() as writer:
            written = writer.trash(action.path, expected=action.hash, now=now, op_id=f"sync-{secrets.token_hex(8)}")
            if written.outcome == "pending":
                writer.discard(written.op_id)
                raise Again
        if written.outcome != "trashed":
            raise Again
        self._forget(action.path)

    def _keep_both(self, action: KeepBoth, done: Done, now: datetime) -> None:
        if action.side == "local":
            self._disk.rename(action.path, action.copy, hashed=action.hash)
        else:
            self._remote.move(action.path, action.copy, expected=action.tag or None)
        with self._book.writing():
            if isinstance(self._book.agreed(action.path), BaseFile):
                self._book.forget(action.path)
            self._book.drop_entry(action.path)
        done.conflicts.append(action.copy)

    def _put(self, path: str, raw: bytes, expected: str | None, now: datetime) -> str:
        """Swap bytes in; what somebody saved meanwhile is merged into them, or stays beside them.

        While an editor has the file open the write waits in the journal; any other reason to wait means to look again.
        """

        def on_newer(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
            if path.endswith(RECORDS):
                return merge_records([ours, theirs])
            return merge(base, ours, theirs, between_people=True).result if path.endswith(TEXT) else None

        op_id = "sync-" + sha256(f"{path}\0{expected}\0{revision_of(raw)}".encode()).hexdigest()[:24]
        with self._writing() as writer:
            written = writer.write(
                path, raw, expected=expected, now=now, op_id=op_id, merge=on_newer, quiet=0.0, by="sync"
            )
            if written.outcome == "pending":
                if written.reason == "in_editor":
                    self._patient.add(op_id)
                else:
                    writer.discard(op_id)
                raise Again
        return written.outcome

    def _give_up_old(self) -> None:
        """Writes that waited for an editor, and that no plan asks for any more."""
        with self._writing() as writer:
            for op in writer.pending():
                if op.op_id.startswith("sync-") and op.op_id not in self._patient:
                    writer.discard(op.op_id)
        self._patient.clear()

    # folders and renames

    def _folder(self, action: MakeRemoteDir | MakeLocalDir | RemoveRemoteDir | RemoveLocalDir) -> None:
        match action:
            case MakeRemoteDir():
                stored = self._remote.mkcol(action.path)
                with self._book.writing():
                    self._book.agree(action.path, BaseDir("", stored.fileid))
                    self._book.entry(Entry(action.path, True, stored.etag, fileid=stored.fileid))
            case MakeLocalDir():
                self._disk.make_folder(action.path)
                with self._book.writing():
                    self._book.agree(action.path, BaseDir())
            case RemoveRemoteDir():
                self._remote.rmcol(action.path)
                self._forget(action.path)
            case RemoveLocalDir():
                if self._disk.remove_folder(action.path):
                    self._forget(action.path)

    def _move(self, action: MoveRemote | MoveLocal | MoveBase) -> None:
        tag: str | None = None
        if isinstance(action, MoveRemote):
            stored = self._remote.move(action.path, action.to, expected=action.tag or None)
            tag = stored.etag if action.tag and action.unedited else None
        elif isinstance(action, MoveLocal):
            self._disk.rename(action.path, action.to, hashed=action.hash)
        record = action.path if isinstance(action, MoveBase) else action.record
        with self._book.writing():
            self._book.drop_entry(action.path)
            if not record:
                return
            self._book.move(record, action.to)
            was = self._book.agreed(action.to)
            if tag and isinstance(was, BaseFile):
                self._book.agree(action.to, BaseFile(was.hash, tag, was.local_id, was.remote_id), racy=True)

    # what is recorded

    def _adopt(self, action: Adopt | Refresh, now: datetime) -> None:
        if isinstance(action.base, BaseFile) and isinstance(action, Adopt):
            note = self._local.read(action.path)
            if isinstance(note, Note) and note.revision == action.base.hash:
                self._keep(action.path, note.raw, now)
        with self._book.writing():
            self._book.agree(action.path, action.base, racy=action.path in self.young)
            self._book.sent(action.path)

    def _agree(self, path: str, raw: bytes, stored: Stored) -> None:
        """Both sides hold these bytes. A server that did not tell the tag is asked for it."""
        tag, fileid, confirmed = stored.etag, stored.fileid, stored.confirmed
        if not tag:
            entry = self._remote.look(path)
            if entry.size != len(raw):
                raise Again
            tag, fileid, confirmed = entry.etag, entry.fileid, entry.confirmed
        was = self._book.agreed(path)
        remote_id = fileid or (was.remote_id if was else "")
        with self._book.writing():
            agreed = BaseFile(revision_of(raw), tag, self._disk.id_of(path), remote_id)
            self._book.agree(path, agreed, racy=not confirmed)
            self._book.entry(Entry(path, False, tag, len(raw), fileid=remote_id))
            self._book.sent(path)

    def _rewrote(self, path: str, by: str, now: datetime) -> None:
        with self._book.writing():
            self._book.rewrote(path, by, now.timestamp())

    def _keep(self, path: str, raw: bytes, now: datetime, *, by: By = "person") -> None:
        """Keep a version: the next merge starts from it."""
        if path.endswith((*TEXT, *RECORDS)):
            with self._writing() as writer:
                writer.snapshots.record(path, raw, at=now.timestamp(), by=by)

    def _read(self, path: str, hashed: str) -> Note:
        note = self._local.read(path)
        if not isinstance(note, Note) or note.revision != hashed or not note.stable:
            raise Again
        return note

    def _forget(self, path: str) -> None:
        with self._book.writing():
            self._book.forget(path)
            self._book.drop_entry(path)

    def _sent(self, path: str) -> None:
        with self._book.writing():
            self._book.sent(path)

    def _unsent(self, action: Action) -> None:
        if isinstance(action, Upload | Merge):
            self._sent(action.path)


def _cut_off(raw: bytes, last: bytes | None) -> bool:
    """Whether this may be the first part of a text that another device's upload was cut off in."""
    if last is None or len(raw) >= len(last):
        return not raw and last is None
    return half_saved(raw, last) or (last.endswith(b"\n") and not raw.endswith(b"\n"))


def _as_stored(fetched: Fetched) -> Stored:
    return Stored(fetched.etag, confirmed=fetched.confirmed)
