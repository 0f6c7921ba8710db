"""Both sides of a sync, and what is recorded about them: the steps that all actions share."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from vault_memory.markdown import merge
from vault_memory.remote import Entry, Fetched, Remote, Stored
from vault_memory.sync.book import NEW, YOUNG, Book
from vault_memory.sync.disk import Disk
from vault_memory.sync.local import Local
from vault_memory.sync.trees import BaseFile
from vault_memory.vault import By, Note, Version, Writer, half_saved, merge_records, revision_of

TEXT = (".md",)
RECORDS = (".jsonl",)
HOLD_SECONDS = 120.0
"""For which a text on the server that looks cut off is left to the device that sent it"""
SECOND_LOOK = 3.0
"""After which a tag is relied on where the server does not tell how old it is"""

Writing = Callable[[], AbstractContextManager[Writer]]


class Again(Exception):
    """Something is no longer as it was when the plan was made: the path is looked at anew."""


@dataclass(slots=True)
class Sides:
    """One vault and one remote."""

    local: Local
    remote: Remote
    book: Book
    writing: Writing
    """the vault's writer, for the moment of one write"""
    disk: Disk
    largest: int
    """in bytes: of a file that travels"""
    young: frozenset[str] = frozenset()
    """paths whose tags, as listed in this pass, may come to stand for other bytes"""
    writes_here: bool = True
    """False: only the server is written"""
    _patient: set[str] = field(default_factory=set)

    def fetch(self, path: str, now: datetime) -> Fetched:
        """What the server holds; what looks like the first part of an upload is believed when it stays so."""
        fetched = self.remote.get(path, max_bytes=self.largest)
        was = self.book.agreed(path)
        with self.writing() as writer:
            last = writer.snapshots.bytes_of(was.hash) if isinstance(was, BaseFile) else None
        if _cut_off(fetched.raw, last):
            with self.book.writing():
                since = self.book.doubted(path, fetched.etag, now)
            if now.timestamp() - since < HOLD_SECONDS:
                raise Again
        self.fetched(path, fetched)
        return fetched

    def fetched(self, path: str, fetched: Fetched) -> None:
        """Remember what stands behind a tag, unless it may come to stand for other bytes."""
        if fetched.confirmed:
            with self.book.writing():
                self.book.fetched(path, fetched.etag, revision_of(fetched.raw))

    def certain(self, path: str, tag: str, now: datetime) -> None:
        """Before the file that both sides agree on is overwritten or deleted on the server: is it still the same?

        Where the tag was recorded young, another write may hide behind it. Then the bytes are asked for once it is
        older than the second that it stands for.
        """
        if path not in self.book.racy():
            return
        fetched, was = self.remote.get(path, max_bytes=self.largest), self.book.agreed(path)
        self.fetched(path, fetched)
        same = isinstance(was, BaseFile) and (was.hash, tag) == (revision_of(fetched.raw), fetched.etag)
        with self.book.writing():
            since = self.book.doubted(path, fetched.etag, now)
        if not same or not (fetched.confirmed or now.timestamp() - since >= SECOND_LOOK):
            raise Again
        with self.book.writing():
            self.book.calm(path)

    def put(self, path: str, raw: bytes, expected: str | None, now: datetime) -> str:
        """Swap bytes in; what somebody saved meanwhile is merged into them, or stays beside them.

        While an editor has the file open the write waits in the journal; any other reason to wait means to look again.
        """

        def on_newer(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
            if path.endswith(RECORDS):
                return merge_records([ours, theirs])
            return merge(base, ours, theirs, between_people=True).result if path.endswith(TEXT) else None

        op_id = "sync-" + sha256(f"{path}\0{expected}\0{revision_of(raw)}".encode()).hexdigest()[:24]
        with self.writing() as writer:
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

    def give_up_old(self) -> None:
        """Writes that waited for an editor, and that no plan asks for any more."""
        with self.writing() as writer:
            for op in writer.pending():
                if op.op_id.startswith("sync-") and op.op_id not in self._patient:
                    writer.discard(op.op_id)
        self._patient.clear()

    def agree(self, path: str, raw: bytes, stored: Stored, *, made: bool = False) -> None:
        """Both sides hold these bytes, in a file that we have `made`. A server that told no tag is asked for it."""
        tag, fileid, confirmed = stored.etag, stored.fileid, stored.confirmed
        if not tag:
            entry = self.remote.look(path)
            if entry.size != len(raw):
                raise Again
            tag, fileid, confirmed = entry.etag, entry.fileid, entry.confirmed
        was = self.book.agreed(path)
        remote_id = fileid or (was.remote_id if was else "")
        with self.book.writing():
            agreed = BaseFile(revision_of(raw), tag, self.disk.id_of(path), remote_id)
            self.book.agree(path, agreed, racy=0 if confirmed else NEW if made else YOUNG)
            seen = self.book.last_seen(path)
            modified = seen.modified if seen and seen.etag == tag else 0
            self.book.entry(Entry(path, False, tag, len(raw), modified, fileid=remote_id))
            self.book.sent(path)

    def rewrote(self, path: str, by: str, now: datetime) -> None:
        with self.book.writing():
            self.book.rewrote(path, by, now.timestamp())

    def keep(self, path: str, raw: bytes, now: datetime, *, by: By = "person") -> None:
        """Keep a version: the next merge starts from it."""
        if path.endswith((*TEXT, *RECORDS)):
            with self.writing() as writer:
                writer.snapshots.record(path, raw, at=now.timestamp(), by=by)

    def keep_all(self, versions: Sequence[tuple[str, bytes]], now: datetime) -> None:
        """Keep these versions at once."""
        texts = [(path, raw) for path, raw in versions if path.endswith((*TEXT, *RECORDS))]
        with self.writing() as writer:
            heads = {path: writer.snapshots.head(path) for path, _ in texts}
            fresh = [(path, raw) for path, raw in texts if not _is_head(heads[path], raw)]
            if fresh:
                writer.snapshots.record_all(fresh, at=now.timestamp())

    def read(self, path: str, hashed: str) -> Note:
        note = self.local.read(path)
        if not isinstance(note, Note) or note.revision != hashed or not note.stable:
            raise Again
        return note

    def forget(self, path: str) -> None:
        with self.book.writing():
            self.book.forget(path)
            self.book.drop_entry(path)

    def sent(self, path: str) -> None:
        with self.book.writing():
            self.book.sent(path)


def _is_head(head: Version | None, raw: bytes) -> bool:
    return head is not None and head.revision == revision_of(raw)


def _cut_off(raw: bytes, last: bytes | None) -> bool:
    """Whether this may be the first part of a text that another device's upload was cut off in."""
    if last is None or len(raw) >= len(last):
        return not raw and last is None
    return half_saved(raw, last) or (last.endswith(b"\n") and not raw.endswith(b"\n"))
