"""Both sides of a sync and the sync state: the steps that all actions share."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from vault_memory.markdown.merging.three_way import merge
from vault_memory.remote.contract import Entry, Fetched, PutResult, Remote
from vault_memory.remote.remote_errors import RemoteChanged
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.sync.apply.unread_uploads import UnreadUploads
from vault_memory.sync.observe.local_scan import LocalScanner
from vault_memory.sync.plan.awareness import join_records
from vault_memory.sync.plan.line_forms import LineForms, SeenText, forms_in
from vault_memory.sync.state_db import NEW, UNSIGNED, YOUNG, SyncState
from vault_memory.sync.trees import BaseFile, BaseNode
from vault_memory.vault.fs import RealFiles, move_between
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version, revision_of
from vault_memory.vault.write.attempt import make_folders
from vault_memory.vault.write.journal import By
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.wait_reasons import refuse_lasting
from vault_memory.vault.write.writer import Writer

TEXT = MARKDOWN
RECORDS = (".jsonl",)
VERSIONS = 60
"""How many earlier versions another client may have started from"""
HOLD_SECONDS = 120.0
"""How long a text that looks cut off waits for the device that sends it"""
RECENT_SECONDS = 900.0
"""An earlier form of a line comes back within minutes; after that, a person wrote it again"""
MOST_COMPARED = 20
"""Texts of a note in which forms of a line are looked for"""
SHORT = "the server keeps only the first {kept} of {whole} bytes of it"
HALF = "half"
SECOND_LOOK = 3.0
"""The age at which a tag is trusted, where the server does not report how old it is"""

Writing = Callable[[], AbstractContextManager[Writer]]


# --- Local renames ---


class Disk:
    """The folder of one vault. Its methods raise the OSErrors of the system."""

    def __init__(self, root: str) -> None:
        self._files = RealFiles(root)

    def id_of(self, path: str) -> str:
        """The inode, which survives a rename; empty when the path does not exist."""
        try:
            with self._parent(path) as (folder, name):
                stat = self._files.look(folder, name)
        except OSError:
            return ""
        return str(stat.ino) if stat else ""

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents, unless they exist."""
        self._files.close(make_folders(self._files, path))

    def remove_folder(self, path: str) -> bool:
        """Remove an empty folder. False: it stays, since it contains files that are not synced."""
        with self._parent(path) as (folder, name):
            try:
                os.rmdir(name, dir_fd=folder)
            except FileNotFoundError:
                return True
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return False
                raise
            self._files.fsync(folder)
        return True

    def rename(self, path: str, to: str, *, hashed: str | None) -> None:
        """Rename a file with this hash, or a folder, to a free name. Raises FileExistsError."""
        self.make_folder(to.rpartition("/")[0])
        with self._parent(path) as (old_folder, name), self._parent(to) as (new_folder, new_name):
            if hashed is not None and self._hash(old_folder, name) != hashed:
                raise FileNotFoundError(errno.ENOENT, "it is no longer what it was", path)
            move_between(old_folder, name, new_folder, new_name)
            self._files.fsync(new_folder)
            self._files.fsync(old_folder)

    def _hash(self, folder: int, name: str) -> str:
        fd = self._files.open(folder, name)
        try:
            return revision_of(self._files.read(fd))
        finally:
            self._files.close(fd)

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        above, _, name = path.rpartition("/")
        folder = self._files.open_folder(above)
        try:
            yield folder, name
        finally:
            self._files.close(folder)


# --- Session ---


class ActionOutdated(Exception):
    """Something has changed since the plan was made: the next pass compares the path again."""


@dataclass(slots=True)
class SyncSession:
    """One vault and one remote."""

    local: LocalScanner
    remote: Remote
    state: SyncState
    writing: Writing
    """opens the vault's writer for one write"""
    disk: Disk
    largest: int
    """in bytes: larger files are not synced"""
    young: frozenset[str] = frozenset()
    """paths whose tags, as listed in this pass, other bytes may get, too"""
    scanned_server: bool = True
    """whether this pass scanned the server before it planned"""
    writes_here: bool = True
    """False: only the server is written"""
    unread: UnreadUploads = field(init=False)
    """uploads of this device that others may not have read"""
    prefetched: dict[str, Fetched] = field(default_factory=dict)
    """what the plan of this pass has fetched, so that it is not fetched twice"""
    _delayed_writes: set[str] = field(default_factory=set)
    """op ids of the writes of this pass that wait for an editor"""

    def __post_init__(self) -> None:
        self.unread = UnreadUploads(self.state)

    # --- Reading the server ---

    def fetch(self, path: str, tag: str, now: datetime) -> Fetched:
        """Fetch the server's file, which was listed under this tag. Raises ActionOutdated."""
        if self.may_be_half(path, tag, now.timestamp()):
            raise ActionOutdated
        fetched = self.prefetched.pop(path, None)
        if fetched is None:
            fetched = self.remote.get(path, max_bytes=self.largest)
        if self._is_unfinished(path, fetched):
            # Fault: another device's upload is under way, and the server shows its first part.
            # The text is fetched once, and taken for complete when it stays so.
            with self.state.transaction():
                since = self.state.mark_doubtful(path, fetched.etag, now, why=HALF)
            if now.timestamp() - since < HOLD_SECONDS:
                raise ActionOutdated
        self.remember_fetched(path, fetched)
        return fetched

    def may_be_half(self, path: str, tag: str, at: float) -> bool:
        """Whether the bytes under this tag were fetched and may be part of an unfinished upload."""
        since = self.state.doubted_since(path, tag, why=HALF)
        return since is not None and 0 <= at - since < HOLD_SECONDS

    def _is_unfinished(self, path: str, fetched: Fetched) -> bool:
        """Whether a text may be the first part of another device's upload."""
        was = self.state.base_of(path)
        last = self.sent_bytes(was.hash) if isinstance(was, BaseFile) else None
        if not _is_cut_off(fetched.raw, last) or self._has_checksum(path, fetched):
            return False
        return not self.is_cut_short(path, fetched)

    def _has_checksum(self, path: str, fetched: Fetched) -> bool:
        """Whether the sender's checksum proves that nothing is missing."""
        entry = self.state.entry_of(path)
        if entry is None or entry.etag != fetched.etag:
            return False
        return entry.checksum == revision_of(fetched.raw)

    def is_cut_short(self, path: str, fetched: Fetched) -> bool:
        """Whether the server kept only the first part of our last upload, though it reported success."""
        was = self.state.base_of(path)
        upload = self.unread.last(path, was)
        # Once a listing has shown the complete upload, a shorter text is an edit.
        if upload is None or upload.evidence == "whole" or not isinstance(was, BaseFile):
            return False
        # Fault: taken for an edit, the first part would remove the other lines here, too.
        sent = self.sent_bytes(upload.revision)
        if sent is None or not _is_first_part(fetched.raw, sent):
            return False
        if fetched.etag == was.tag:
            return True
        # An earlier version under another tag was restored by a person.
        return not self.was_here(path, revision_of(fetched.raw))

    def remember_fetched(self, path: str, fetched: Fetched) -> None:
        """Remember which bytes a tag means, unless other bytes may get it, too."""
        if fetched.confirmed:
            with self.state.transaction():
                self.state.store_fetched(path, fetched.etag, revision_of(fetched.raw))

    def check_unchanged(
        self, path: str, tag: str, now: datetime, *, replaceable: bool = False
    ) -> None:
        """Check a file of the base before it is overwritten or deleted. Raises ActionOutdated.

        `replaceable`: the server keeps the bytes that are overwritten, so nothing has to wait.
        """
        # Fault: another write in the second of the tag hides behind it. So the bytes are fetched
        # once the tag is older than a second.
        if path not in self.state.racy():
            return
        since = self.state.doubted_since(path, tag)
        if since is not None and 0 <= now.timestamp() - since < SECOND_LOOK:
            raise ActionOutdated
        fetched = self.remote.get(path, max_bytes=self.largest)
        was = self.state.base_of(path)
        self.remember_fetched(path, fetched)
        if fetched.etag != tag or not _has_bytes(was, fetched.raw):
            raise ActionOutdated
        if replaceable and not fetched.confirmed:
            return  # the server's versions will show what hides behind the tag
        is_doubtful = self.is_doubtful(path, fetched.etag, now)
        if not fetched.confirmed and is_doubtful:
            raise ActionOutdated
        with self.state.transaction():
            self.state.clear_racy(path)

    def is_doubtful(self, path: str, tag: str, now: datetime) -> bool:
        """Whether another write may still get a tag that was just fetched.

        This device's clock measures how long the tag was seen: a file may have a time in the future,
        and then the server never calls its tag reliable.
        """
        with self.state.transaction():
            since = self.state.mark_doubtful(path, tag, now)
        return now.timestamp() - since < SECOND_LOOK

    # --- The vault ---

    def read_unchanged(self, path: str, hashed: str) -> Note:
        """Read a note that has this hash. Raises ActionOutdated when it changed or is being saved."""
        note = self.local.read(path)
        if not isinstance(note, Note) or note.revision != hashed or not note.stable:
            raise ActionOutdated
        return note

    def write_local(self, path: str, raw: bytes, expected: str | None, now: datetime) -> str:
        """Write a file of the vault; an edit since `expected` is merged or kept in a copy.

        Returns the outcome. Raises ActionOutdated for a write that has to wait. If an editor has
        the file open, the write waits in the journal; else the next pass plans again.
        """

        def on_newer(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
            if path.endswith(RECORDS):
                return join_records([ours, theirs])
            if path.endswith(TEXT):
                return merge(base, ours, theirs, between_people=True).result
            return None

        identity = f"{path}\0{expected}\0{revision_of(raw)}".encode()
        op_id = "sync-" + sha256(identity).hexdigest()[:24]
        with self.writing() as writer:
            # Fault: without a daemon, nothing else repeats the waiting write after the editor
            # has closed the file.
            if any(write.op_id == op_id for write in writer.pending()):
                writer.tend(now)
            new = Replacement(path, raw, expected=expected, op_id=op_id, quiet=0.0, by="sync")
            written = writer.write(new, now=now, merge=on_newer)
            if written.outcome == "pending":
                if written.reason == "in_editor":
                    self._delayed_writes.add(op_id)
                    raise ActionOutdated
                writer.discard(op_id)
                refuse_lasting(path, written.reason)
                raise ActionOutdated
        return written.outcome

    def discard_stale_writes(self) -> None:
        """Discard writes that wait for an editor and that this pass no longer plans."""
        with self.writing() as writer:
            for op in writer.pending():
                is_ours = op.op_id.startswith("sync-")
                if is_ours and op.op_id not in self._delayed_writes:
                    writer.discard(op.op_id)
        self._delayed_writes.clear()

    def versions_here(self, path: str) -> list[Version]:
        """The latest versions of a note, the newest first."""
        was = self.state.base_of(path)
        with self.writing() as writer:
            versions = writer.snapshots.chain(path)
            revisions = {version.revision for version in versions[:-1]}
            if isinstance(was, BaseFile) and was.hash not in revisions:
                # Fault: a renamed note has its earlier versions under its last name, and another
                # client may start from one of them.
                versions += writer.snapshots.before(path, was.hash)
        return versions[: VERSIONS + 1]

    def recent_forms(self, path: str, now: datetime) -> LineForms:
        """Which lines of a note became other ones within the last minutes."""
        since = now.timestamp() - RECENT_SECONDS
        texts: list[SeenText] = []
        for version in reversed(self.versions_here(path)[:MOST_COMPARED]):
            raw = self.sent_bytes(version.revision) if version.at >= since else None
            if raw is not None:
                texts.append(SeenText(raw, is_of_device=version.by != "sync"))
        note = self.local.read(path)
        if isinstance(note, Note):
            texts.append(SeenText(note.raw, is_of_device=True))
        return forms_in(texts)

    def was_here(self, path: str, revision: str) -> bool:
        """Whether a revision is one of these versions."""
        return any(version.revision == revision for version in self.versions_here(path))

    def sent_bytes(self, revision: str) -> bytes | None:
        """The bytes of a revision; None when they are no longer stored."""
        with self.writing() as writer:
            return writer.snapshots.bytes_of(revision)

    def record_version(self, path: str, raw: bytes, now: datetime, *, by: By = "person") -> None:
        """Record a version of a note or log: the next merge starts from it."""
        if path.endswith((*TEXT, *RECORDS)):
            with self.writing() as writer:
                writer.snapshots.record(path, raw, at=now.timestamp(), by=by)

    def record_versions(self, versions: Sequence[tuple[str, bytes]], now: datetime) -> None:
        """Record versions of several files at once."""
        texts = [(path, raw) for path, raw in versions if path.endswith((*TEXT, *RECORDS))]
        with self.writing() as writer:
            heads = {path: writer.snapshots.head(path) for path, _ in texts}
            new = [(path, raw) for path, raw in texts if not _is_head(heads[path], raw)]
            if new:
                writer.snapshots.record_all(new, at=now.timestamp())

    # --- Uploads ---

    def upload(self, path: str, raw: bytes, expected: str | None, *, after: int = 0) -> PutResult:
        """Write to the server, over the file with that tag, or where nothing exists.

        `after`: the server's time of that file, where the caller knows it.
        """
        last = self.state.entry_of(path)
        if not after and last is not None and last.etag == expected:
            after = last.modified
        if expected is not None and not after and self.remote.traits.versions:
            # Fault: with the time of the file that it replaces, an upload would get the tag of that
            # file and its place in the list of versions.
            entry = self.remote.look(path)
            if entry.etag != expected:
                raise RemoteChanged(path)
            with self.state.transaction():
                self.state.store_entry(entry)
            after = entry.modified
        return self.remote.put(path, raw, expected=expected, after=after)

    # --- The sync state ---

    def record_base(
        self, path: str, raw: bytes, stored: PutResult, now: datetime, *, made: bool = False
    ) -> None:
        """Record that both sides have these bytes. `made`: this device created the file.

        Asks the server for the tag if it reported none. Raises ActionOutdated.
        """
        # Fault: the bytes of the base are stored nowhere, so the next merge has no common text.
        self._keep_bytes(path, raw, now)
        tag, fileid, confirmed = stored.etag, stored.fileid, stored.confirmed
        if not tag:
            entry = self.remote.look(path)
            if entry.size != len(raw):
                raise ActionOutdated
            tag, fileid, confirmed = entry.etag, entry.fileid, entry.confirmed
        was, last = self.state.base_of(path), self._listed(path, tag)
        # Fault: without its id, a file that was just fetched is not known again after a rename.
        fileid = fileid or last.fileid or (was.remote_id if was else "")
        racy = 0 if confirmed else self._why_racy(stored, made=made)
        with self.state.transaction():
            base = BaseFile(revision_of(raw), tag, self.disk.id_of(path), fileid)
            self.state.set_base(path, base, racy=racy)
            modified = stored.modified or last.modified
            checksum = stored.checksum or last.checksum
            self.state.store_entry(Entry(path, False, tag, len(raw), modified, fileid, checksum))
            self.state.end_upload(path)

    def _listed(self, path: str, tag: str) -> Entry:
        """What the last listing has for a tag; an entry without properties when it has nothing."""
        last = self.state.entry_of(path)
        return last if last and last.etag == tag else Entry(path, False, tag)

    def _keep_bytes(self, path: str, raw: bytes, now: datetime) -> None:
        """Record a version of a note or log, unless it is one already."""
        if not path.endswith((*TEXT, *RECORDS)):
            return
        with self.writing() as writer:
            # Bytes without a version are deleted with the next old versions.
            versions = writer.snapshots.chain(path)
            if revision_of(raw) not in [version.revision for version in versions]:
                writer.snapshots.record(path, raw, at=now.timestamp(), by="sync")

    def _why_racy(self, stored: PutResult, *, made: bool) -> int:
        """Why the bytes of a tag must be fetched again."""
        if not made:
            return YOUNG
        is_unsigned = self.remote.traits.checksums and not stored.checksum
        return UNSIGNED if is_unsigned else NEW

    def record_rewrite(self, path: str, by: str, now: datetime) -> None:
        with self.state.transaction():
            self.state.record_rewrite(path, by, now.timestamp())

    def forget(self, path: str) -> None:
        with self.state.transaction():
            self.state.forget(path)
            self.state.delete_entry(path)

    def forget_deleted(self, paths: Iterable[str]) -> None:
        """Forget what this device has deleted on the server."""
        with self.state.transaction():
            for path in paths:
                self.forget(path)
                self.state.clear_folder_tags(path)

    def end_upload(self, path: str) -> None:
        with self.state.transaction():
            self.state.end_upload(path)


def as_stored(fetched: Fetched) -> PutResult:
    """What was fetched, as if the server had just stored it."""
    return PutResult(
        fetched.etag,
        confirmed=fetched.confirmed,
        modified=fetched.modified,
        checksum=fetched.checksum,
    )


def _is_head(head: Version | None, raw: bytes) -> bool:
    return head is not None and head.revision == revision_of(raw)


def _has_bytes(was: BaseNode | None, raw: bytes) -> bool:
    return isinstance(was, BaseFile) and was.hash == revision_of(raw)


def _is_first_part(raw: bytes, complete: bytes) -> bool:
    return len(raw) < len(complete) and complete.startswith(raw)


def _is_cut_off(raw: bytes, last: bytes | None) -> bool:
    """Whether another device's upload of this text may have been cut off within a line.

    A text of complete lines is an edit, even a short one: a person removed the other lines, or
    restored an earlier version.
    """
    if not raw:
        return last != b""
    if last is None or len(raw) >= len(last):
        return False
    return last.endswith(b"\n") and not raw.endswith(b"\n")
