"""Both sides of a sync, and what is recorded about them: the steps that all actions share."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from vault_memory.markdown.merging.three_way import merge
from vault_memory.remote.contract import Entry, Fetched, PutResult, Remote
from vault_memory.remote.remote_errors import RemoteChanged
from vault_memory.sync.apply.local_renames import Disk
from vault_memory.sync.apply.unproven_uploads import Deliveries
from vault_memory.sync.observe.local_scan import LocalScanner
from vault_memory.sync.plan.awareness import join_records
from vault_memory.sync.state_db import NEW, UNSIGNED, YOUNG, OpenUpload, SyncState
from vault_memory.sync.trees import BaseFile, hash_of
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version, revision_of
from vault_memory.vault.write.journal import By
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.writer import Writer

TEXT = (".md",)
RECORDS = (".jsonl",)
VERSIONS = 60
"""How many earlier versions may have been what the other side started from"""
HOLD_SECONDS = 120.0
"""For which a text on the server that looks cut off is left to the device that sent it"""
TRIES = 3
"""So often a text is sent of which the server keeps the first part, before a person is told"""
SHORT = "the server keeps only the first {kept} of {whole} bytes of it"
HALF = "half"
SECOND_LOOK = 3.0
"""After which a tag is relied on where the server does not tell how old it is"""

Writing = Callable[[], AbstractContextManager[Writer]]


class ActionOutdated(Exception):
    """Something is no longer as it was when the plan was made: the path is looked at anew."""


@dataclass(slots=True)
class SyncSession:
    """One vault and one remote."""

    local: LocalScanner
    remote: Remote
    state: SyncState
    writing: Writing
    """the vault's writer, for the moment of one write"""
    disk: Disk
    largest: int
    """in bytes: of a file that travels"""
    young: frozenset[str] = frozenset()
    """paths whose tags, as listed in this pass, may come to stand for other bytes"""
    asked: bool = True
    """whether this pass looked at the server before it planned"""
    writes_here: bool = True
    """False: only the server is written"""
    deliveries: Deliveries = field(init=False)
    prefetched: dict[str, Fetched] = field(default_factory=dict)
    """what was fetched in this pass to decide about a path, so that it is not asked for twice"""
    _patient: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.deliveries = Deliveries(self.state)

    def fetch(self, path: str, tag: str, now: datetime) -> Fetched:
        """What the server holds, which was listed under this tag.

        A text that ends within a line may be the first part of an unfinished upload of another device. It is read
        once, and believed when it stays so.
        """
        if self.may_be_half(path, tag, now.timestamp()):
            raise ActionOutdated
        fetched = self.prefetched.pop(path, None) or self.remote.get(
            path, max_bytes=self.largest
        )
        was = self.state.base_of(path)
        last = self.sent_bytes(was.hash) if isinstance(was, BaseFile) else None
        unfinished = _cut_off(fetched.raw, last) and not self._finished(path, fetched)
        if unfinished and not self.is_cut_short(path, fetched):
            with self.state.transaction():
                since = self.state.mark_doubtful(path, fetched.etag, now, why=HALF)
            if now.timestamp() - since < HOLD_SECONDS:
                raise ActionOutdated
        self.fetched(path, fetched)
        return fetched

    def may_be_half(self, path: str, tag: str, at: float) -> bool:
        """Whether the text under this tag was read, and waits for the end of an upload of another device."""
        since = self.state.doubted_since(path, tag, why=HALF)
        return since is not None and 0 <= at - since < HOLD_SECONDS

    def is_cut_short(self, path: str, fetched: Fetched) -> bool:
        """Whether the server kept only the first part of our last upload, though it answered that it had stored it.

        Taken for an edit, it would take the rest away here, too. Once a listing has shown the upload whole, such a
        text is an edit. So is an earlier version under another tag: somebody put it back.
        """
        was = self.state.base_of(path)
        delivery = self.deliveries.of(path, was)
        if delivery is None or delivery.whole or not isinstance(was, BaseFile):
            return False
        sent = self.sent_bytes(delivery.revision)
        if (
            sent is None
            or len(fetched.raw) >= len(sent)
            or not sent.startswith(fetched.raw)
        ):
            return False
        return fetched.etag == was.tag or revision_of(
            fetched.raw
        ) not in self.versions_here(path)

    def versions_here(self, path: str) -> dict[str, bytes]:
        """The latest versions of a note by revision, the newest first.

        A note that was renamed has its earlier versions under its last name: whoever wrote to it may start from these.
        """
        was = self.state.base_of(path)
        with self.writing() as writer:
            snapshots = writer.snapshots
            revisions = dict.fromkeys(
                version.revision for version in snapshots.chain(path)
            )
            if isinstance(was, BaseFile) and (
                was.hash not in revisions or [*revisions][-1] == was.hash
            ):
                earlier = [
                    version.revision for version in snapshots.before(path, was.hash)
                ]
                revisions |= dict.fromkeys((was.hash, *earlier))
            revisions = dict.fromkeys([*revisions][: VERSIONS + 1])
            return {
                revision: snapshots.bytes_of(revision) or b"" for revision in revisions
            }

    def _finished(self, path: str, fetched: Fetched) -> bool:
        """Whether the sender's checksum proves that nothing is missing."""
        entry = self.state.entry_of(path)
        return (
            entry is not None
            and entry.etag == fetched.etag
            and entry.checksum == revision_of(fetched.raw)
        )

    def sent_bytes(self, revision: str) -> bytes | None:
        """The bytes of a revision, as far as they are kept."""
        with self.writing() as writer:
            return writer.snapshots.bytes_of(revision)

    def fetched(self, path: str, fetched: Fetched) -> None:
        """Remember what stands behind a tag, unless it may come to stand for other bytes."""
        if fetched.confirmed:
            with self.state.transaction():
                self.state.store_fetched(path, fetched.etag, revision_of(fetched.raw))

    def certain(
        self, path: str, tag: str, now: datetime, *, replaceable: bool = False
    ) -> None:
        """Before the file that both sides agree on is overwritten or deleted on the server: is it still the same?

        Where the tag was recorded young, another write may hide behind it. Then the bytes are asked for once it is
        older than the second that it stands for, by the clock of this device: a file may have a time in the future.
        `replaceable`: what is written over can be had again, so nothing has to be waited for.
        """
        if path not in self.state.racy():
            return
        since = self.state.doubted_since(path, tag)
        if since is not None and 0 <= now.timestamp() - since < SECOND_LOOK:
            raise ActionOutdated
        fetched, was = (
            self.remote.get(path, max_bytes=self.largest),
            self.state.base_of(path),
        )
        self.fetched(path, fetched)
        same = isinstance(was, BaseFile) and (was.hash, tag) == (
            revision_of(fetched.raw),
            fetched.etag,
        )
        if not same:
            raise ActionOutdated
        if replaceable and not fetched.confirmed:
            return  # what hides behind the tag is found in the versions afterwards
        with self.state.transaction():
            since = self.state.mark_doubtful(path, fetched.etag, now)
        if not (fetched.confirmed or now.timestamp() - since >= SECOND_LOOK):
            raise ActionOutdated
        with self.state.transaction():
            self.state.clear_racy(path)

    def put(self, path: str, raw: bytes, expected: str | None, now: datetime) -> str:
        """Swap bytes in; what somebody saved meanwhile is merged into them, or stays beside them.

        While an editor has the file open the write waits in the journal; any other reason to wait means to look again.
        """

        def on_newer(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
            if path.endswith(RECORDS):
                return join_records([ours, theirs])
            return (
                merge(base, ours, theirs, between_people=True).result
                if path.endswith(TEXT)
                else None
            )

        op_id = (
            "sync-"
            + sha256(f"{path}\0{expected}\0{revision_of(raw)}".encode()).hexdigest()[
                :24
            ]
        )
        with self.writing() as writer:
            # Without a daemon nobody else tries the waiting write again once the editor is closed.
            if any(write.op_id == op_id for write in writer.pending()):
                writer.tend(now)
            new = Replacement(
                path, raw, expected=expected, op_id=op_id, quiet=0.0, by="sync"
            )
            written = writer.write(new, now=now, merge=on_newer)
            if written.outcome == "pending":
                if written.reason == "in_editor":
                    self._patient.add(op_id)
                else:
                    writer.discard(op_id)
                raise ActionOutdated
        return written.outcome

    def send(
        self, path: str, raw: bytes, expected: str | None, *, after: int = 0
    ) -> PutResult:
        """Write to the server, over the file with that tag or where nothing is.

        `after`: the time that the server gives that file, where the caller knows it.
        """
        last = self.state.entry_of(path)
        after = after or (last.modified if last and last.etag == expected else 0)
        if expected is not None and not after and self.remote.traits.versions:
            # At the time of the file that it replaces it would get the tag of that file, and its place in the list.
            entry = self.remote.look(path)
            if entry.etag != expected:
                raise RemoteChanged(path)
            with self.state.transaction():
                self.state.store_entry(entry)
            after = entry.modified
        return self.remote.put(path, raw, expected=expected, after=after)

    def send_again(self, note: Note, expected: str, now: datetime) -> bool:
        """Upload a text of whose last upload the server kept the first part. False: it does so again and again."""
        was = self.state.base_of(note.path)
        delivery = self.deliveries.of(note.path, was)
        tries = delivery.tries + 1 if delivery else 1
        with self.state.transaction():
            self.state.begin_uploads(
                [OpenUpload(note.path, note.revision, len(note.raw), expected)]
            )
        self.keep(note.path, note.raw, now)
        stored = self.send(note.path, note.raw, expected)
        with self.state.transaction():
            self.agree(note.path, note.raw, stored)
            self.deliveries.record(note.path, note.raw, hash_of(was), now, tries=tries)
        return tries <= TRIES

    def give_up_old(self) -> None:
        """Writes that waited for an editor, and that no plan asks for any more."""
        with self.writing() as writer:
            for op in writer.pending():
                if op.op_id.startswith("sync-") and op.op_id not in self._patient:
                    writer.discard(op.op_id)
        self._patient.clear()

    def agree(
        self, path: str, raw: bytes, stored: PutResult, *, made: bool = False
    ) -> None:
        """Both sides hold these bytes, in a file that we have `made`. A server that told no tag is asked for it."""
        tag, fileid, confirmed = stored.etag, stored.fileid, stored.confirmed
        if not tag:
            entry = self.remote.look(path)
            if entry.size != len(raw):
                raise ActionOutdated
            tag, fileid, confirmed = entry.etag, entry.fileid, entry.confirmed
        was = self.state.base_of(path)
        remote_id = fileid or (was.remote_id if was else "")
        with self.state.transaction():
            agreed = BaseFile(revision_of(raw), tag, self.disk.id_of(path), remote_id)
            is_unsigned = self.remote.traits.checksums and not stored.checksum
            young = (UNSIGNED if is_unsigned else NEW) if made else YOUNG
            self.state.set_base(path, agreed, racy=0 if confirmed else young)
            seen = self.state.entry_of(path)
            modified = stored.modified or (
                seen.modified if seen and seen.etag == tag else 0
            )
            checksum = stored.checksum or (
                seen.checksum if seen and seen.etag == tag else ""
            )
            self.state.store_entry(
                Entry(path, False, tag, len(raw), modified, remote_id, checksum)
            )
            self.state.end_upload(path)

    def rewrote(self, path: str, by: str, now: datetime) -> None:
        with self.state.transaction():
            self.state.record_rewrite(path, by, now.timestamp())

    def keep(self, path: str, raw: bytes, now: datetime, *, by: By = "person") -> None:
        """Keep a version: the next merge starts from it."""
        if path.endswith((*TEXT, *RECORDS)):
            with self.writing() as writer:
                writer.snapshots.record(path, raw, at=now.timestamp(), by=by)

    def keep_all(self, versions: Sequence[tuple[str, bytes]], now: datetime) -> None:
        """Keep these versions at once."""
        texts = [
            (path, raw) for path, raw in versions if path.endswith((*TEXT, *RECORDS))
        ]
        with self.writing() as writer:
            heads = {path: writer.snapshots.head(path) for path, _ in texts}
            fresh = [
                (path, raw) for path, raw in texts if not _is_head(heads[path], raw)
            ]
            if fresh:
                writer.snapshots.record_all(fresh, at=now.timestamp())

    def read(self, path: str, hashed: str) -> Note:
        note = self.local.read(path)
        if not isinstance(note, Note) or note.revision != hashed or not note.stable:
            raise ActionOutdated
        return note

    def forget(self, path: str) -> None:
        with self.state.transaction():
            self.state.forget(path)
            self.state.delete_entry(path)

    def sent(self, path: str) -> None:
        with self.state.transaction():
            self.state.end_upload(path)


def as_stored(fetched: Fetched) -> PutResult:
    """What was read, as if the server had just stored it."""
    return PutResult(
        fetched.etag,
        confirmed=fetched.confirmed,
        modified=fetched.modified,
        checksum=fetched.checksum,
    )


def _is_head(head: Version | None, raw: bytes) -> bool:
    return head is not None and head.revision == revision_of(raw)


def _cut_off(raw: bytes, last: bytes | None) -> bool:
    """Whether this may be the first part of a text that another device's upload was cut off in.

    Whole lines are an edit, however few they are: somebody took out the others, or put an earlier version back.
    """
    if not raw:
        return last != b""
    if last is None or len(raw) >= len(last):
        return False
    return last.endswith(b"\n") and not raw.endswith(b"\n")
