"""Files that travel, are merged, deleted, or kept twice. What an action rests on is looked at again first."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from vault_memory.markdown.merging.three_way import merge
from vault_memory.remote.contract import Fetched
from vault_memory.remote.remote_errors import RemoteMissing
from vault_memory.sync.actions import Download, KeepBoth, Merge, TrashLocal
from vault_memory.sync.apply.overwrite_check import OverwriteCheck
from vault_memory.sync.apply.progress import PassResult
from vault_memory.sync.apply.session import (
    RECORDS,
    SHORT,
    TEXT,
    VERSIONS,
    ActionOutdated,
    SyncSession,
    as_stored,
)
from vault_memory.sync.apply.unproven_uploads import Delivery
from vault_memory.sync.plan.awareness import (
    Step,
    has_read,
    items_of,
    join_records,
    torn_end,
    without_line,
    without_torn,
)
from vault_memory.sync.state_db import OpenUpload
from vault_memory.sync.trees import BaseFile
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.version_distance import nearest


class FileTransfers:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._overwritten = OverwriteCheck(session)

    def download(self, action: Download, result: PassResult, now: datetime) -> None:
        fetched = self._session.fetch(action.path, action.tag, now)
        if action.hash is not None and self._session.is_cut_short(action.path, fetched):
            note = self._session.read(action.path, action.hash)
            self._send_again(note, fetched, result, now)
            return
        if (joined := self._overtaken(action, fetched, now)) is not None:
            self._swap_in(action, joined, fetched, result, now)
            return
        if self._session.put(action.path, fetched.raw, action.hash, now) == "copied":
            result.conflicts.append(action.path)
            raise ActionOutdated
        with self._session.state.transaction():
            self._agree_on_theirs(action.path, fetched, now)
            self._session.rewrote(action.path, "them", now)
        result.downloaded.append(action.path)

    def _send_again(
        self, note: Note, fetched: Fetched, result: PassResult, now: datetime
    ) -> None:
        """Put the text of now over the first part of the last one."""
        if self._session.send_again(note, fetched.etag, now):
            result.uploaded.append(note.path)
        else:
            kept, whole = len(fetched.raw), len(note.raw)
            result.failed[note.path] = SHORT.format(kept=kept, whole=whole)

    def _overtaken(
        self, action: Download, fetched: Fetched, now: datetime
    ) -> bytes | None:
        """Both texts in one, where somebody wrote over our last upload without having seen it."""
        was = self._session.state.base_of(action.path)
        if not isinstance(was, BaseFile) or was.hash != action.hash:
            return None
        start = self._start_of_other(action.path, was, fetched, now)
        ours = self._session.sent_bytes(was.hash)
        if start is None or ours is None:
            return None
        if action.path.endswith(RECORDS):
            return join_records([ours, fetched.raw])
        return _added(start, ours, fetched.raw, now)

    def _start_of_other(
        self, path: str, was: BaseFile, fetched: Fetched, now: datetime
    ) -> "_Start | None":
        """What the other side started from, if it wrote over a text of the last minute without having read it.

        Two writes can pass one precondition at once, and some clients send none: then theirs starts from an older
        version than ours, and to take ours for the common text would take our lines for lines that they removed.
        A text that is just as an earlier one has been put back on purpose, but by a person, not by a device.
        """
        delivery = self._session.deliveries.of(path, was)
        if delivery is None or not path.endswith((*TEXT, *RECORDS)):
            return None
        if not delivery.is_ours and not self._is_foreign(fetched):
            return None  # a device like this one: where it knew nothing of the text, the device that sent that tells
        entry = self._session.state.entry_of(path)
        modified = entry.modified if entry and entry.etag == fetched.etag else 0
        if not self._session.deliveries.unnoticed(delivery, modified, now.timestamp()):
            return None
        texts = self._session.versions_here(path)
        if was.hash not in texts:
            return None
        # This device may have read the first part of another one's upload: its last line is torn, not written.
        last = texts[was.hash]
        torn = b""
        if not delivery.arrivals[0].by_us:
            torn = torn_end(last, fetched.raw)
        own_items = items_of(without_line(last, torn))
        if own_items <= items_of(fetched.raw):
            return None
        if revision_of(fetched.raw) in texts and fetched.checksum != revision_of(
            fetched.raw
        ):
            return None
        if path.endswith(RECORDS):
            return _Start(None)
        # The server may have kept half of an upload, upon which the other side wrote: what is missing was cut off.
        if delivery.whole and has_read(fetched.raw, self._steps(delivery, texts)):
            return None
        if delivery.whole and self._overwritten.is_next(
            path, was, delivery, fetched, texts
        ):
            return None
        # What was written here since the upload can be nobody else's start.
        revisions = list(texts)
        candidates = [
            (one, _without_headings(texts[one]))
            for one in revisions[revisions.index(was.hash) :]
        ]
        start = texts[nearest(_without_headings(fetched.raw), candidates) or was.hash]
        return _Start(start, cut=b"" if delivery.whole else texts[was.hash], torn=torn)

    def _is_foreign(self, fetched: Fetched) -> bool:
        """Whether a program of another kind wrote a text: devices like this one send a checksum along."""
        return (
            self._session.remote.traits.checksums
            and fetched.checksum != revision_of(fetched.raw)
        )

    def _steps(self, delivery: Delivery, texts: Mapping[str, bytes]) -> list[Step]:
        """`texts`: the versions that were here, the newest first."""
        revisions = list(texts)
        steps = []
        for arrival in delivery.arrivals:
            at = revisions.index(arrival.revision) if arrival.revision in texts else -1
            older = frozenset[bytes]().union(
                *(items_of(texts[one]) for one in revisions[at + 1 :])
            )
            raw, before = (
                self._session.sent_bytes(one) or b""
                for one in (arrival.revision, arrival.before)
            )
            steps.append(Step(raw, before, older, arrival.at_once))
        return steps

    def _swap_in(
        self,
        action: Download,
        joined: bytes,
        fetched: Fetched,
        result: PassResult,
        now: datetime,
    ) -> None:
        """What both wrote stands here now; it goes up with the next pass."""
        self._store_merged(action.path, action.hash, joined, fetched, now)
        with self._session.state.transaction():
            self._agree_on_theirs(action.path, fetched, now)
            self._session.rewrote(action.path, "them", now)
        result.merged.append(action.path)

    def _store_merged(
        self,
        path: str,
        expected: str | None,
        merged: bytes,
        fetched: Fetched,
        now: datetime,
    ) -> None:
        """Put the merged text here, and keep it among the versions above the server's text."""
        outcome = "unchanged"
        if revision_of(merged) != expected:
            outcome = self._session.put(path, merged, expected, now)
        if outcome == "copied":
            raise ActionOutdated
        # Fault: an open editor delays the write. The server's text is not in the vault then. As
        # a version it would count as read here: the next pass would take it for the common text
        # or for one that somebody put back, and lines of one side would go.
        self._session.keep(path, fetched.raw, now, by="sync")
        # Fault: an editor saves the note at this moment. Then the merged text that is uploaded
        # is never in the vault, and without its version no merge can tell which lines it added.
        self._session.keep(path, merged, now, by="sync")
        note = self._session.local.read(path)
        if outcome == "merged" and isinstance(note, Note):
            self._session.keep(path, note.raw, now)

    def _agree_on_theirs(self, path: str, fetched: Fetched, now: datetime) -> None:
        """The server's text is the common one from now on."""
        was = self._session.state.base_of(path)
        self._session.agree(path, fetched.raw, as_stored(fetched))
        if isinstance(was, BaseFile):
            self._session.deliveries.read(path, fetched.raw, was.hash, now)

    def merge(self, action: Merge, result: PassResult, now: datetime) -> None:
        young = action.path in self._overwritten.suspects(now)
        note = self._session.read(action.path, action.hash)
        fetched = self._session.fetch(action.path, action.tag, now)
        self._session.keep(action.path, note.raw, now)
        if fetched.raw == note.raw:
            self._session.agree(action.path, note.raw, as_stored(fetched))
            return
        if action.upload and self._session.is_cut_short(action.path, fetched):
            self._send_again(note, fetched, result, now)
            return
        joined = self._joined(action, note.raw, fetched, now)
        if joined is None:
            self._part(action, fetched, result, now)
            return
        self._store_merged(action.path, action.hash, joined, fetched, now)
        self._agree_on_theirs(action.path, fetched, now)
        self._session.deliveries.met(action.path)
        self._session.rewrote(action.path, "them", now)
        if joined != fetched.raw and action.upload:
            self._upload_joined(
                action, joined, fetched, now, young=young or not fetched.confirmed
            )
        result.merged.append(action.path)

    def _upload_joined(
        self,
        action: Merge,
        joined: bytes,
        fetched: Fetched,
        now: datetime,
        *,
        young: bool,
    ) -> None:
        if not (fetched.confirmed or self._session.remote.traits.versions):
            raise ActionOutdated  # another write of that second could hide behind the tag, and nobody could tell afterwards
        self._overwritten.list_before(action.path, now)
        with self._session.state.transaction():
            self._session.state.begin_uploads(
                [
                    OpenUpload(
                        action.path, revision_of(joined), len(joined), fetched.etag
                    )
                ]
            )
        stored = self._session.send(action.path, joined, fetched.etag)
        with self._session.state.transaction():
            if isinstance(was := self._session.state.base_of(action.path), BaseFile):
                self._overwritten.remember(
                    was, stored, action.path, joined, now, young=young
                )
            self._session.agree(action.path, joined, stored)
            self._session.deliveries.record(
                action.path, joined, revision_of(fetched.raw), now
            )

    def _part(
        self, action: Merge, fetched: Fetched, result: PassResult, now: datetime
    ) -> None:
        """Two texts that cannot become one: the server's keeps the name, the local one lies beside it."""
        self._session.disk.rename(action.path, action.copy, hashed=action.hash)
        result.conflicts.append(action.copy)
        result.notes.append(
            (
                action.path,
                f"it was changed on both sides; what was here is `{action.copy}`",
            )
        )
        self._session.put(action.path, fetched.raw, None, now)
        self._session.agree(action.path, fetched.raw, as_stored(fetched))

    def _joined(
        self, action: Merge, mine: bytes, fetched: Fetched, now: datetime
    ) -> bytes | None:
        """One text out of two, or None where that cannot be."""
        its = fetched.raw
        if action.path.endswith(RECORDS):
            return join_records([mine, its])
        if not action.path.endswith(TEXT):
            return None
        was = self._session.state.base_of(action.path)
        if isinstance(was, BaseFile) and was.hash == action.base:
            start = self._start_of_other(action.path, was, fetched, now)
            if start is not None:
                return _added(start, mine, its, now)
        date = f"{now:%Y-%m-%d}"
        with self._session.writing() as writer:
            snapshots = writer.snapshots
            base = snapshots.bytes_of(action.base)
            if base is None:
                chain = snapshots.chain(action.path)[1 : VERSIONS + 1]
                texts = {
                    one.revision: snapshots.bytes_of(one.revision) or b""
                    for one in chain
                }
                same = (
                    revision_of(its)
                    if revision_of(its) in texts
                    and not self._lay_elsewhere(action, its)
                    else ""
                )
                base = texts.get(
                    same or (nearest(its, texts.items()) if action.base else "") or ""
                )
        lost = self._session.deliveries.lost(action.path)
        if base is not None and lost:
            # Whoever wrote it may have read half of our upload: what is missing was cut off, not removed.
            its = without_torn(its, self._session.sent_bytes(lost) or b"", [base])
            its = merge(None, base, its, between_people=True, date=date).result or its
        return merge(base, mine, its, between_people=True, date=date).result

    def _lay_elsewhere(self, action: Merge, its: bytes) -> bool:
        """Whether the server's text is that of a note with another name: it came here and is no version of this one."""
        revision, base = revision_of(its), self._session.state.base()
        return any(
            path != action.path and isinstance(was, BaseFile) and was.hash == revision
            for path, was in base.items()
        )

    def trash(self, action: TrashLocal, now: datetime, *, again: bool) -> None:
        """`again`: ask for the file by itself; a server may leave out the same one of two listings."""
        self._session.read(action.path, action.hash)
        if again and self._is_there(action.path):
            raise ActionOutdated
        with self._session.writing() as writer:
            written = writer.trash(
                action.path,
                expected=action.hash,
                now=now,
                op_id=f"sync-{secrets.token_hex(8)}",
            )
            if written.outcome == "pending":
                writer.discard(written.op_id)
                raise ActionOutdated
        if written.outcome != "trashed":
            raise ActionOutdated
        self._session.forget(action.path)

    def _is_there(self, path: str) -> bool:
        try:
            self._session.remote.look(path)
        except RemoteMissing:
            return False
        return True

    def keep_both(self, action: KeepBoth, result: PassResult, now: datetime) -> None:
        if action.side == "local":
            self._session.disk.rename(action.path, action.copy, hashed=action.hash)
        else:
            self._session.remote.move(
                action.path, action.copy, expected=action.tag or None
            )
        with self._session.state.transaction():
            if isinstance(self._session.state.base_of(action.path), BaseFile):
                self._session.state.forget(action.path)
            if action.side == "remote":
                self._session.state.delete_entry(action.path)
        result.conflicts.append(action.copy)


@dataclass(frozen=True, slots=True)
class _Start:
    """The text that another side started from; None where it knew of no such note."""

    raw: bytes | None
    cut: bytes = b""
    """an upload of ours of which the server may have kept the first part, upon which the other side wrote"""
    torn: bytes = b""
    """the last line of what is here, if that is the first part of an upload of another device"""


def _added(start: _Start, mine: bytes, its: bytes, now: datetime) -> bytes | None:
    """My text with what the other side has in addition to its start.

    The start is the nearest text that was here. The other side may have started from an older one: a line that it
    lacks may be one that it never saw.
    """
    date = f"{now:%Y-%m-%d}"
    if start.cut:
        its = without_torn(its, start.cut, [start.raw or b""])
    if start.raw is not None:
        its = _with_additions(start.raw, its, date)
        if start.torn:
            # What the first part of an upload lacks was not removed here: only what it has in addition counts.
            mine = _with_additions(start.raw, without_line(mine, start.torn), date)
    return merge(start.raw, mine, its, between_people=True, date=date).result


def _without_headings(raw: bytes) -> bytes:
    """What tells texts apart: a program that adds a line makes the heading above it anew."""
    return b"\n".join(line for line in raw.splitlines() if not line.startswith(b"#"))


def _with_additions(start: bytes, text: bytes, date: str) -> bytes:
    """A text of the past with what a later text has in addition."""
    return merge(None, start, text, between_people=True, date=date).result or text
