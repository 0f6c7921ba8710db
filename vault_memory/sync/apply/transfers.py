"""Downloads, merges and deletes files, and writes copies; each step checks its preconditions first."""

import secrets
from datetime import datetime

from vault_memory.markdown.merging.three_way import merge
from vault_memory.remote.contract import Fetched
from vault_memory.remote.remote_errors import RemoteMissing
from vault_memory.sync.actions import Download, KeepBoth, Merge, TrashLocal
from vault_memory.sync.apply.overwrite_check import OverwriteCheck
from vault_memory.sync.apply.own_writes import FinishedWrite
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
from vault_memory.sync.apply.unproven_uploads import SentText
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
        self._overwrites = OverwriteCheck(session)
        self._starts = StartFinder(session, self._overwrites)

    def download(
        self,
        action: Download,
        result: PassResult,
        now: datetime,
    ) -> None:
        """Download a file. Raises ActionOutdated."""
        fetched = self._session.fetch(action.path, action.tag, now)
        if action.hash is not None and self._session.is_cut_short(action.path, fetched):
            note = self._session.read_unchanged(action.path, action.hash)
            self._upload_again(note, fetched, result, now)
            return
        merged = self._merged_with_unread(action, fetched, now)
        if merged is not None:
            self._store_merged(action.path, action.hash, merged, fetched, now)
            self._record_theirs(action.path, fetched, now)
            result.merged.append(action.path)
            return
        outcome = self._session.write_local(action.path, fetched.raw, action.hash, now)
        if outcome == "copied":
            result.conflicts.append(action.path)
            raise ActionOutdated
        self._record_theirs(action.path, fetched, now)
        result.downloaded.append(action.path)

    def _upload_again(
        self,
        note: Note,
        fetched: Fetched,
        result: PassResult,
        now: datetime,
    ) -> None:
        """Upload the current text over the first part of the last one, which the server kept."""
        if self._session.upload_again(note, fetched.etag, now):
            result.uploaded.append(note.path)
            return
        reason = SHORT.format(kept=len(fetched.raw), whole=len(note.raw))
        result.failed[note.path] = reason

    def _merged_with_unread(
        self,
        action: Download,
        fetched: Fetched,
        now: datetime,
    ) -> bytes | None:
        """Both texts merged, if the author of the server's text had not read our last upload; else None."""
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

    def _store_merged(
        self,
        path: str,
        expected: str | None,
        merged: bytes,
        fetched: Fetched,
        now: datetime,
    ) -> None:
        """Write the merged text to the vault, and record it as the version after the server's text."""
        outcome = "unchanged"
        if revision_of(merged) != expected:
            outcome = self._session.write_local(path, merged, expected, now)
        if outcome == "copied":
            raise ActionOutdated
        # Fault: an open editor delays the write. The server's text is not in the vault then. As
        # a version it would count as read here: the next pass would take it for the common text
        # or for one that a person restored, and lines of one side would be lost. So it is recorded
        # only after the write.
        self._session.record_version(path, fetched.raw, now, by="sync")
        # Fault: an editor saves the note at this moment. Then the merged text that is uploaded
        # is never in the vault, and without its version no merge can tell which lines it added.
        self._session.record_version(path, merged, now, by="sync")
        note = self._session.local.read(path)
        if outcome == "merged" and isinstance(note, Note):
            self._session.record_version(path, note.raw, now)

    def _record_theirs(
        self,
        path: str,
        fetched: Fetched,
        now: datetime,
    ) -> None:
        """Record the server's text as the base, and as a rewrite by another program."""
        was = self._session.state.base_of(path)
        with self._session.state.transaction():
            self._session.record_base(path, fetched.raw, as_stored(fetched))
            if isinstance(was, BaseFile):
                self._session.deliveries.record_theirs(path, fetched.raw, was.hash, now)
            self._session.record_rewrite(path, "them", now)

    def merge(
        self,
        action: Merge,
        result: PassResult,
        now: datetime,
    ) -> None:
        """Merge both texts and upload the result, or write a copy. Raises ActionOutdated."""
        path = action.path
        young = path in self._overwrites.suspects(now)
        note = self._session.read_unchanged(path, action.hash)
        fetched = self._session.fetch(path, action.tag, now)
        self._session.record_version(path, note.raw, now)
        if fetched.raw == note.raw:
            self._session.record_base(path, note.raw, as_stored(fetched))
            return
        if action.upload and self._session.is_cut_short(path, fetched):
            self._upload_again(note, fetched, result, now)
            return
        merged = self._merged(action, note.raw, fetched, now)
        if merged is None:
            self._move_local_aside(action, fetched, result, now)
            return
        self._store_merged(path, action.hash, merged, fetched, now)
        self._record_theirs(path, fetched, now)
        self._session.deliveries.clear_unanswered(path)
        if merged != fetched.raw and action.upload:
            young = young or not fetched.confirmed
            self._upload_merged(path, merged, fetched, now, young=young)
        result.merged.append(path)

    def _upload_merged(
        self,
        path: str,
        merged: bytes,
        fetched: Fetched,
        now: datetime,
        *,
        young: bool,
    ) -> None:
        """Upload a merged text over the fetched one. Raises ActionOutdated."""
        session = self._session
        # Fault: another write of the second of the tag hides behind it, and no version shows it.
        if not fetched.confirmed and not session.remote.traits.versions:
            raise ActionOutdated
        self._overwrites.list_before(path, now)
        upload = OpenUpload(path, revision_of(merged), len(merged), fetched.etag)
        with session.state.transaction():
            session.state.begin_uploads([upload])
        stored = session.upload(path, merged, fetched.etag)
        sent = SentText(path=path, raw=merged, before=revision_of(fetched.raw))
        with session.state.transaction():
            was = session.state.base_of(path)
            if isinstance(was, BaseFile):
                write = FinishedWrite(
                    path=path, raw=merged, replaced=was, stored=stored, young=young
                )
                self._overwrites.remember(write, now)
            session.record_base(path, merged, stored)
            session.deliveries.record_ours(sent, now)

    def _move_local_aside(
        self,
        action: Merge,
        fetched: Fetched,
        result: PassResult,
        now: datetime,
    ) -> None:
        """Give the name to the server's text, and make the local one a copy: they cannot be merged."""
        path, copy = action.path, action.copy
        self._session.disk.rename(path, copy, hashed=action.hash)
        result.conflicts.append(copy)
        result.notes.append(
            (path, f"both sides changed it; the local text is in `{copy}`")
        )
        self._session.write_local(path, fetched.raw, None, now)
        self._session.record_base(path, fetched.raw, as_stored(fetched))

    def _merged(
        self,
        action: Merge,
        ours: bytes,
        fetched: Fetched,
        now: datetime,
    ) -> bytes | None:
        """Both texts merged; None where that is impossible."""
        if action.path.endswith(RECORDS):
            return join_records([ours, fetched.raw])
        if not action.path.endswith(TEXT):
            return None
        was = self._session.state.base_of(action.path)
        if isinstance(was, BaseFile) and was.hash == action.base:
            start = self._starts.find(action.path, was, fetched, now)
            if start is not None:
                return merge_additions(start, ours, fetched.raw, now)
        base = self._common_text(action, fetched.raw)
        date = f"{now:%Y-%m-%d}"
        theirs = self._without_cut_off_lines(action.path, base, fetched.raw, date)
        return merge(base, ours, theirs, between_people=True, date=date).result

    def _common_text(
        self,
        action: Merge,
        theirs: bytes,
    ) -> bytes | None:
        """The text that both sides are based on; None when unknown."""
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
        # The server has an earlier version of the vault, which people have edited here since.
        revision = revision_of(theirs)
        if revision in texts and not self._is_another_note(action, revision):
            return texts[revision]
        if action.base:
            return texts.get(nearest(theirs, texts.items()) or "")
        return None

    def _without_cut_off_lines(
        self,
        path: str,
        base: bytes | None,
        theirs: bytes,
        date: str,
    ) -> bytes:
        """The server's text, completed if its author may have read only a part of an upload of ours."""
        revision = self._session.deliveries.unanswered_revision(path)
        if base is None or not revision:
            return theirs
        # Fault: the server cut our upload off. The lines that the text lacks were not removed.
        upload = self._session.sent_bytes(revision) or b""
        return with_additions(base, without_torn(theirs, upload, [base]), date)

    def _is_another_note(
        self,
        action: Merge,
        revision: str,
    ) -> bool:
        """Whether a note with another name has this text: then it is not a version of this note."""
        return any(
            path != action.path and isinstance(was, BaseFile) and was.hash == revision
            for path, was in self._session.state.base().items()
        )

    def trash(
        self,
        action: TrashLocal,
        now: datetime,
        *,
        again: bool,
    ) -> None:
        """Move a note that the server has lost to the trash. Raises ActionOutdated.

        `again`: ask the server for the file again.
        """
        self._session.read_unchanged(action.path, action.hash)
        # Fault: a server leaves the same file out of two listings.
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

    def keep_both(
        self,
        action: KeepBoth,
        result: PassResult,
        now: datetime,
    ) -> None:
        """Rename the file of one side, so that both stay."""
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
