"""Files that travel, are merged, deleted, or kept twice. What an action rests on is looked at again first."""

import secrets
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
from vault_memory.sync.apply.unread_overwrites import (
    StartFinder,
    merge_additions,
    with_additions,
)
from vault_memory.sync.plan.awareness import join_records, without_torn
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
        self._starts = StartFinder(session, self._overwritten)

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
        start = self._starts.find(action.path, was, fetched, now)
        ours = self._session.sent_bytes(was.hash)
        if start is None or ours is None:
            return None
        if action.path.endswith(RECORDS):
            return join_records([ours, fetched.raw])
        return merge_additions(start, ours, fetched.raw, now)

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
        """Both texts in one; None where they cannot be merged."""
        if action.path.endswith(RECORDS):
            return join_records([mine, fetched.raw])
        if not action.path.endswith(TEXT):
            return None
        was = self._session.state.base_of(action.path)
        if isinstance(was, BaseFile) and was.hash == action.base:
            start = self._starts.find(action.path, was, fetched, now)
            if start is not None:
                return merge_additions(start, mine, fetched.raw, now)
        base = self._common_text(action, fetched.raw)
        date = f"{now:%Y-%m-%d}"
        its = self._without_cut_off_lines(action.path, base, fetched.raw, date)
        return merge(base, mine, its, between_people=True, date=date).result

    def _common_text(self, action: Merge, its: bytes) -> bytes | None:
        """The text that both sides started from; None where that is not known."""
        base = self._session.sent_bytes(action.base) if action.base else None
        if base is not None:
            return base
        with self._session.writing() as writer:
            snapshots = writer.snapshots
            earlier = snapshots.chain(action.path)[1 : VERSIONS + 1]
            texts = {
                version.revision: snapshots.bytes_of(version.revision) or b""
                for version in earlier
            }
        # A version that was in the vault, and under which people went on writing here.
        revision = revision_of(its)
        if revision in texts and not self._is_another_note(action, revision):
            return texts[revision]
        if action.base:
            return texts.get(nearest(its, texts.items()) or "")
        return None

    def _without_cut_off_lines(
        self, path: str, base: bytes | None, its: bytes, date: str
    ) -> bytes:
        """The server's text, completed if its author may have read half of an upload of ours."""
        revision = self._session.deliveries.lost(path)
        if base is None or not revision:
            return its
        # What it lacks was cut off, and nobody removed it.
        upload = self._session.sent_bytes(revision) or b""
        return with_additions(base, without_torn(its, upload, [base]), date)

    def _is_another_note(self, action: Merge, revision: str) -> bool:
        """Whether a note with another name has this text: then it is no version of this one."""
        return any(
            path != action.path and isinstance(was, BaseFile) and was.hash == revision
            for path, was in self._session.state.base().items()
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
