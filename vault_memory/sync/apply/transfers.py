"""Downloads, merges and deletes files, and writes copies; each step checks its preconditions first."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from vault_memory.remote.contract import Fetched
from vault_memory.remote.remote_errors import RemoteMissing
from vault_memory.sync.actions import Download, KeepBoth, Merge, TrashLocal
from vault_memory.sync.apply.overwrite_check import OverwriteCheck, upload_again
from vault_memory.sync.apply.own_writes import FinishedWrite
from vault_memory.sync.apply.session import (
    RECORDS,
    SHORT,
    TEXT,
    VERSIONS,
    ActionOutdated,
    SyncSession,
    as_stored,
)
from vault_memory.sync.apply.unread_uploads import UNNOTICED_SECONDS, SentUpload, stored_upload
from vault_memory.sync.pass_report import PassResult
from vault_memory.sync.plan.awareness import (
    SentText,
    common_text,
    first_unread,
    items_of,
    join_records,
    last_read,
    without_torn,
)
from vault_memory.sync.plan.line_forms import LineForms
from vault_memory.sync.state_db import OpenUpload
from vault_memory.sync.trees import BaseFile
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version, revision_of
from vault_memory.vault.write.wait_reasons import refuse_lasting


class FileTransfers:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._overwrites = OverwriteCheck(session)

    def download(self, action: Download, result: PassResult, now: datetime) -> None:
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
        if outcome == "merged":
            # A person saved the note meanwhile: it never had the server's text alone.
            self._session.record_version(action.path, fetched.raw, now, by="sync")
            self._record_note(action.path, now)
        self._record_theirs(action.path, fetched, now)
        result.downloaded.append(action.path)

    def _upload_again(
        self, note: Note, fetched: Fetched, result: PassResult, now: datetime
    ) -> None:
        """Upload the current text over the first part of the last one, which the server kept."""
        if upload_again(self._session, note, fetched.etag, now):
            result.uploaded.append(note.path)
            return
        reason = SHORT.format(kept=len(fetched.raw), whole=len(note.raw))
        result.failed[note.path] = reason

    def _merged_with_unread(
        self, action: Download, fetched: Fetched, now: datetime
    ) -> bytes | None:
        """Both texts merged, if the author of the server's text had not read our last upload; else None."""
        was = self._session.state.base_of(action.path)
        if not isinstance(was, BaseFile) or was.hash != action.hash:
            return None
        sent = self._doubted(action.path, was, fetched, now)
        unread = self._unread(action.path, fetched, sent)
        ours = self._session.sent_bytes(was.hash)
        if unread is None or ours is None:
            return None
        forms = self._session.recent_forms(action.path, now)
        return _merged_beside(action.path, unread, ours, fetched.raw, forms, now)

    def _unread(self, path: str, fetched: Fetched, sent: Sequence[SentText]) -> SentText | None:
        """The upload of this device that the author of the server's text had not read."""
        unread = first_unread(fetched.raw, sent)
        if unread is None:
            return None
        newest = sent[0]
        # Fault: a hidden write has the time and the length of ours. Its author had not read our lines.
        if not newest.at_once or self._has_own_lines(path, newest):
            return unread
        is_read = self._overwrites.is_next(path, newest.raw, fetched)
        return None if is_read else unread

    def _has_own_lines(self, path: str, upload: SentText) -> bool:
        """Whether an upload adds a line that a text of this device was the first to have."""
        session = self._session
        added = items_of(upload.raw) - items_of(upload.before)
        for version in reversed(session.versions_here(path)):
            lines = items_of(session.sent_bytes(version.revision) or b"")
            if version.by != "sync" and not added.isdisjoint(lines):
                return True
            added -= lines
        return False

    def _doubted(self, path: str, was: BaseFile, fetched: Fetched, now: datetime) -> list[SentText]:
        """The uploads that the author of the server's text may not have read, the newest first."""
        session = self._session
        entry = session.state.entry_of(path)
        modified = entry.modified if entry and entry.etag == fetched.etag else 0
        chain = session.unread.chain(path, was)
        if not chain or not path.endswith((*TEXT, *RECORDS)):
            return []
        if not chain[0].may_be_unread(modified, now.timestamp()):
            return []
        # A part of an upload may be equal to an earlier version.
        may_be_part = chain[0].evidence in ("unanswered", "part")
        if not may_be_part and self._is_restored(path, fetched):
            return []
        return [self._sent_text(upload, chain) for upload in chain]

    def _sent_text(self, upload: SentUpload, chain: Sequence[SentUpload]) -> SentText:
        session = self._session
        versions = session.versions_here(upload.path)
        revisions = [version.revision for version in versions]
        if upload.revision in revisions:
            versions = versions[revisions.index(upload.revision) :]
        of_others = [version for version in versions if version.by == "sync"]
        older = [
            items_of(session.sent_bytes(revision) or b"")
            for revision in {version.revision for version in of_others}
            if revision != upload.revision
        ]
        before = session.sent_bytes(upload.before) or b""
        # Fault: the bytes of an upload are no longer stored. An empty text would count as read.
        raw = session.sent_bytes(upload.revision)
        return SentText(
            before if raw is None else raw,
            before,
            frozenset[bytes]().union(*older),
            _was_read(upload, chain, of_others),
            upload.was_at_once,
        )

    def _is_restored(self, path: str, fetched: Fetched) -> bool:
        """Whether a person restored an earlier version on the server. A device never does."""
        revision = revision_of(fetched.raw)
        if fetched.checksum == revision:
            return False
        return self._session.was_here(path, revision)

    def _store_merged(
        self, path: str, expected: str | None, merged: bytes, fetched: Fetched, now: datetime
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
        if outcome == "merged":
            self._record_note(path, now)

    def _record_note(self, path: str, now: datetime) -> None:
        """Record the note as the latest version."""
        note = self._session.local.read(path)
        if isinstance(note, Note):
            self._session.record_version(path, note.raw, now)

    def _record_theirs(self, path: str, fetched: Fetched, now: datetime) -> None:
        """Record the server's text as the base, and as a rewrite by another program."""
        with self._session.state.transaction():
            self._session.record_base(path, fetched.raw, as_stored(fetched), now)
            self._session.record_rewrite(path, "them", now)

    def merge(self, action: Merge, result: PassResult, now: datetime) -> None:
        """Merge both texts and upload the result, or write a copy. Raises ActionOutdated."""
        path = action.path
        young = path in self._overwrites.suspects(now)
        note = self._session.read_unchanged(path, action.hash)
        fetched = self._session.fetch(path, action.tag, now)
        self._session.record_version(path, note.raw, now)
        if fetched.raw == note.raw:
            self._session.record_base(path, note.raw, as_stored(fetched), now)
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
        if merged != fetched.raw and action.upload:
            young = young or not fetched.confirmed
            self._upload_merged(path, merged, fetched, now, young=young)
        result.merged.append(path)

    def _upload_merged(
        self, path: str, merged: bytes, fetched: Fetched, now: datetime, *, young: bool
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
        with session.state.transaction():
            was = session.state.base_of(path)
            if isinstance(was, BaseFile):
                write = FinishedWrite(
                    path=path, raw=merged, replaced=was, stored=stored, young=young
                )
                self._overwrites.remember(write, now)
            session.record_base(path, merged, stored, now)
            sent = stored_upload(path, merged, revision_of(fetched.raw), now)
            session.unread.record(sent)

    def _move_local_aside(
        self, action: Merge, fetched: Fetched, result: PassResult, now: datetime
    ) -> None:
        """Give the name to the server's text, and make the local one a copy: they cannot be merged."""
        path, copy = action.path, action.copy
        self._session.disk.rename(path, copy, hashed=action.hash)
        result.conflicts.append(copy)
        result.notes.append((path, f"both sides changed it; the local text is in `{copy}`"))
        self._session.write_local(path, fetched.raw, None, now)
        self._session.record_base(path, fetched.raw, as_stored(fetched), now)

    def _merged(self, action: Merge, ours: bytes, fetched: Fetched, now: datetime) -> bytes | None:
        """Both texts merged; None where that is impossible."""
        if action.path.endswith(RECORDS):
            return join_records([ours, fetched.raw])
        if not action.path.endswith(TEXT):
            return None
        was = self._session.state.base_of(action.path)
        base = None
        # Fault: a new note has the name of one that was renamed. It is no edit of that one.
        forms = LineForms()
        if isinstance(was, BaseFile) and was.hash == action.base:
            forms = self._session.recent_forms(action.path, now)
            sent = self._doubted(action.path, was, fetched, now)
            unread = self._unread(action.path, fetched, sent)
            if unread is not None:
                return _merged_beside(action.path, unread, ours, fetched.raw, forms, now)
            base = last_read(fetched.raw, sent)
        if base is None:
            base = self._common_text(action, fetched.raw)
        return forms.merge(base, ours, fetched.raw, f"{now:%Y-%m-%d}")

    def _common_text(self, action: Merge, theirs: bytes) -> bytes | None:
        """The text that both sides are based on; None when unknown."""
        base = self._session.sent_bytes(action.base) if action.base else None
        if base is not None:
            return base
        with self._session.writing() as writer:
            snapshots = writer.snapshots
            earlier = snapshots.chain(action.path)[1 : VERSIONS + 1]
            texts = {
                version.revision: snapshots.bytes_of(version.revision) or b"" for version in earlier
            }
        # The server has an earlier version of the vault, which people have edited here since.
        revision = revision_of(theirs)
        if revision in texts and not self._is_another_note(action, revision):
            return texts[revision]
        return None

    def _is_another_note(self, action: Merge, revision: str) -> bool:
        """Whether a note with another name has this text: then it is not a version of this note."""
        return any(
            path != action.path and isinstance(was, BaseFile) and was.hash == revision
            for path, was in self._session.state.base().items()
        )

    def trash(self, action: TrashLocal, now: datetime, *, again: bool) -> None:
        """Move a note that the server has lost to the trash. Raises ActionOutdated.

        `again`: ask the server for the file again.
        """
        self._session.read_unchanged(action.path, action.hash)
        # Fault: a server leaves the same file out of two listings.
        if again and self._is_there(action.path):
            raise ActionOutdated
        with self._session.writing() as writer:
            written = writer.trash(
                action.path, expected=action.hash, now=now, op_id=f"sync-{secrets.token_hex(8)}"
            )
            if written.outcome == "pending":
                writer.discard(written.op_id)
                refuse_lasting(action.path, written.reason)
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
        """Rename the file of one side, so that both stay."""
        if action.side == "local":
            self._session.disk.rename(action.path, action.copy, hashed=action.hash)
        else:
            self._session.remote.move(action.path, action.copy, expected=action.tag or None)
        with self._session.state.transaction():
            if isinstance(self._session.state.base_of(action.path), BaseFile):
                self._session.state.forget(action.path)
            if action.side == "remote":
                self._session.state.delete_entry(action.path)
        result.conflicts.append(action.copy)


def _was_read(
    upload: SentUpload, chain: Sequence[SentUpload], of_others: Sequence[Version]
) -> bool:
    """Whether everybody who writes over an upload has read the text that it replaced.

    A client reads at most a minute before it writes.
    """
    # Fault: the upload never arrived. Another program wrote over the text before it, a moment after that
    # had arrived.
    if upload.evidence == "unanswered":
        return False
    times = [earlier.at for earlier in chain if earlier.revision == upload.before]
    times += [version.at for version in of_others if version.revision == upload.before]
    return bool(times) and upload.at - times[0] >= UNNOTICED_SECONDS


def _merged_beside(
    path: str, unread: SentText, ours: bytes, theirs: bytes, forms: LineForms, now: datetime
) -> bytes | None:
    """Our text with what an author adds who had not read an upload of ours; None: not mergeable."""
    if path.endswith(RECORDS):
        return join_records([ours, theirs])
    date = f"{now:%Y-%m-%d}"
    if not unread.at_once:
        theirs = without_torn(theirs, unread.raw, [unread.before])
    base = common_text(unread, theirs, date)
    return forms.merge(base, ours, theirs, date)
