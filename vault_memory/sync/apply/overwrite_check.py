"""Checks whether an upload of this device overwrote a text on the server that it had not read.

Two writes can pass one precondition at once. A second write within a second, or with the time of the
first, keeps the tag. Where the server keeps versions, they show such a text. It then counts as an edit
of the other side.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from vault_memory.errors import VaultError
from vault_memory.remote.contract import Fetched
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.apply.own_writes import (
    FinishedWrite,
    KnownList,
    KnownVersions,
    Overwrite,
    before_ours,
    short_size,
    sizes_of,
)
from vault_memory.sync.apply.session import RECORDS, SHORT, TEXT, ActionOutdated, SyncSession
from vault_memory.sync.apply.unread_uploads import stored_upload
from vault_memory.sync.apply.unseen_texts import OVERWROTE, UnseenMerge, UnseenTexts
from vault_memory.sync.pass_report import COMPARED_AGAIN, PassResult
from vault_memory.sync.plan.awareness import is_superseded
from vault_memory.sync.state_db import OpenUpload
from vault_memory.sync.trees import BaseFile, hash_of
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

TRIES = 3
"""How often a text is sent that the server stores in part; then a person reads of it"""
GIVE_UP_SECONDS = 24 * 3600.0
REST_SECONDS = 600.0
"""How long no other write goes over one that cannot be checked"""
UNTOLD = (
    "another program stored it at the same moment as this device. Both texts are merged. "
    "The server keeps no earlier versions, so a third text may be lost"
)


@dataclass(frozen=True, slots=True)
class _CheckOutcome:
    """How the check of one write ended."""

    is_done: bool
    reason: str = ""
    """why its path must wait; empty when it need not"""


class OverwriteCheck:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._known = KnownVersions(session.state)
        self._unseen = UnseenTexts(session, self._known)
        self._merge = UnseenMerge(session)

    # --- Before and after a write ---

    def suspects(self, now: datetime) -> frozenset[str]:
        """Paths whose tags may hide other bytes, and those that another program has just written."""
        state = self._session.state
        rewrites = state.rewrites(now.timestamp())
        theirs = {rewrite.path for rewrite in rewrites if rewrite.by == "them"}
        return state.racy() | self._session.young | theirs

    def remember(self, write: FinishedWrite, now: datetime) -> None:
        """Store a finished write for a later check."""
        if not self._session.remote.traits.versions:
            return
        path, replaced = write.path, write.replaced
        size, modified = self._last_listed(write)
        crossed = path in self.suspects(now)
        overwrite = Overwrite(
            path,
            write.stored.fileid or replaced.remote_id,
            replaced.hash,
            size,
            modified,
            revision_of(write.raw),
            len(write.raw),
            write.young or crossed,
            now.timestamp(),
            ours_modified=write.stored.modified,
            date=write.stored.date,
            crossed=crossed,
        )
        earlier = self._session.state.meta(OVERWROTE + path)
        if isinstance(earlier, dict) and path.endswith((*TEXT, *RECORDS)):
            overwrite = _with_earlier(overwrite, earlier)
        self._session.state.set_meta(OVERWROTE + path, asdict(overwrite))

    def _last_listed(self, write: FinishedWrite) -> tuple[int, int]:
        """The size and the time of the replaced text, as last listed; -1 and 0 when unknown."""
        replaced = write.replaced
        entry = self._session.state.entry_of(write.path)
        tags = (replaced.tag, write.tag or replaced.tag)
        if entry is not None and entry.etag in tags:
            return entry.size, entry.modified
        listed = self._known.of(write.path, replaced.hash)
        return -1, listed.modified if listed else 0

    def begin(self, path: str, revision: str) -> None:
        """Record that a file is new on the server: none of its versions was ever here."""
        if self._session.remote.traits.versions:
            self._known.begin(path, revision)

    def list_before(self, path: str, now: datetime) -> None:
        """List the versions of a file before a text of another program is overwritten."""
        # Fault: clients give files any time they like. Only a list from before the write shows
        # which versions were added in between.
        session = self._session
        was = session.state.base_of(path)
        if not session.remote.traits.versions or not isinstance(was, BaseFile):
            return
        if self._known.of(path, was.hash) is not None:
            return
        versions = session.remote.versions(path, fileid=was.remote_id)
        entry = session.state.entry_of(path)
        modified = entry.modified if entry and entry.etag == was.tag else 0
        self._known.save(path, KnownList(was.hash, sizes_of(versions), modified))

    def list_first_part(self, path: str, whole: str, part: str) -> None:
        """Record that the versions which were listed after an upload are those of its first part.

        `whole`, `part`: revisions of the upload and of what the server kept of it.
        """
        # Fault: a text of another program takes the place of the part among the versions.
        listed = self._known.of(path, whole)
        if listed is not None:
            self._known.save(path, replace(listed, revision=part))

    def is_next(self, path: str, ours: bytes, fetched: Fetched) -> bool:
        """Whether a device wrote the server's text directly over an upload of ours, which it had read.

        A device sends a precondition, and the versions show that nobody else wrote in between.
        """
        was = self._session.state.base_of(path)
        listed = self._known.of(path, revision_of(ours))
        is_of_device = fetched.checksum == revision_of(fetched.raw)
        if listed is None or not is_of_device or not isinstance(was, BaseFile):
            return False
        times = (0, listed.modified)
        if fetched.modified in times or listed.modified == 0:
            return False
        versions = self._session.remote.versions(path, fileid=was.remote_id)
        earlier = [version for version in versions if version.modified != fetched.modified]
        ours_is_there = any(version.modified == listed.modified for version in earlier)
        return ours_is_there and all(map(listed.has, earlier))

    # --- The check ---

    def search(
        self, result: PassResult, now: datetime, *, only: str | None = None
    ) -> dict[str, str]:
        """Check what the stored writes replaced, or only that of one path.

        Returns the paths that must wait for their check, with the reasons: the next write could delete
        the version with the replaced text.
        """
        waiting: dict[str, str] = {}
        for name, fact in self._session.state.metas_with_prefix(OVERWROTE).items():
            overwrite = Overwrite(**fact)
            if only not in (None, overwrite.path):
                continue
            outcome = self._try_check(overwrite, result, now)
            if outcome.reason:
                waiting[overwrite.path] = outcome.reason
            if outcome.is_done:
                with self._session.state.transaction():
                    self._session.state.delete_meta(name)
        return waiting

    def _try_check(self, overwrite: Overwrite, result: PassResult, now: datetime) -> _CheckOutcome:
        """Check one write. Raises RemoteErrors that concern the whole server."""
        path = overwrite.path
        try:
            self._check(overwrite, result, now)
        except ActionOutdated:
            result.outdated.add(path)
            return _CheckOutcome(is_done=False, reason=COMPARED_AGAIN)
        except (RemoteLocked, RemoteBusy, NotUnderstood) as error:
            if isinstance(error, RemoteBusy) and error.everywhere:
                raise
            age = now.timestamp() - overwrite.at
            if age >= GIVE_UP_SECONDS:
                return _CheckOutcome(is_done=True)
            result.outdated.add(path)
            reason = error.message if age < REST_SECONDS else ""
            return _CheckOutcome(is_done=False, reason=reason)
        except (RemoteMissing, Refused):
            return _CheckOutcome(is_done=True)
        except (VaultError, OSError) as error:
            result.failed[path] = str(error)
            return _CheckOutcome(is_done=False)
        return _CheckOutcome(is_done=True)

    def _check(self, overwrite: Overwrite, result: PassResult, now: datetime) -> None:
        path, session = overwrite.path, self._session
        versions = session.remote.versions(path, fileid=overwrite.fileid)
        # Fault: the next write could delete a version. So the versions are read first of all.
        unseen, read = self._unseen.look(overwrite, versions, now)
        size = short_size(overwrite, versions)
        if size is not None:
            # Fault: a text of an earlier time may arrive together with the second upload.
            earlier = sizes_of(before_ours(overwrite, read))
            listed = KnownList(overwrite.base, earlier, overwrite.modified)
            self._known.save(path, listed)
            overwrite = self._upload_again(overwrite, size, result, now)
            versions = session.remote.versions(path, fileid=overwrite.fileid)
            more, read = self._unseen.look(overwrite, versions, now)
            unseen += [raw for raw in more if raw not in unseen]
        # Fault: a version with a time in the future is listed above ours, and has its length by
        # chance. The server may have kept only a part of ours: its entry is the one of our time.
        for version in versions:
            if version.modified == overwrite.ours_modified:
                session.unread.confirm(path, overwrite.ours, version.size, version.modified)
        unseen = self._still_unseen(overwrite, unseen)
        if unseen:
            self._merge.take_over(overwrite, unseen, result, now)
            last = revision_of(unseen[-1])
            session.unread.correct_before(path, overwrite.ours, last)
        # Fault: a text that another program wrote over ours has an earlier time. In the list it
        # would count as older than ours, and a text that is based on it as one based on ours.
        listed = KnownList(overwrite.ours, sizes_of(read), overwrite.ours_modified)
        self._known.save(path, listed)

    def _still_unseen(self, overwrite: Overwrite, unseen: Sequence[bytes]) -> list[bytes]:
        """The unseen texts, the oldest first, without those that another author has gone on with."""
        path = overwrite.path
        if not unseen or not path.endswith(TEXT):
            return list(unseen)
        # Fault: another author saves a line again and again after our write. Its earlier forms
        # would come back.
        later = list(unseen)
        with suppress(RemoteMissing, Refused):
            current = self._session.remote.get(path, max_bytes=self._session.largest)
            ours = {overwrite.ours, *(revision for revision, _ in overwrite.writes)}
            if revision_of(current.raw) not in ours:
                later.append(current.raw)
        base = self._session.sent_bytes(overwrite.base) or b""
        return [
            raw
            for number, raw in enumerate(unseen, 1)
            if not any(is_superseded(raw, text, base) for text in later[number:])
        ]

    def _upload_again(
        self, overwrite: Overwrite, size: int, result: PassResult, now: datetime
    ) -> Overwrite:
        """Upload our text again over its first part, which the server kept. Returns the write since then."""
        path, session = overwrite.path, self._session
        was, note = session.state.base_of(path), session.local.read(path)
        if not isinstance(was, BaseFile) or not isinstance(note, Note):
            return overwrite
        if not was.hash == note.revision == overwrite.ours:
            return overwrite
        try:
            if not upload_again(session, note, was.tag, now):
                result.failed[path] = SHORT.format(kept=size, whole=overwrite.ours_size)
        except RemoteChanged:
            # Another program has already written over the first part.
            session.end_upload(path)
            result.outdated.add(path)
            return overwrite
        # Fault: this check is interrupted. By the time of the first part, the next one would upload
        # the text once more, over what another program has written since.
        entry = session.state.entry_of(path)
        modified = entry.modified if entry else 0
        again = replace(overwrite, ours_modified=modified)
        # Fault: the unseen texts that this check has just stored would be dropped.
        stored = session.state.meta(OVERWROTE + path)
        if isinstance(stored, dict):
            again = replace(again, unseen=stored["unseen"])
        with session.state.transaction():
            session.state.set_meta(OVERWROTE + path, asdict(again))
        return again


def upload_again(session: SyncSession, note: Note, expected: str, now: datetime) -> bool:
    """Upload a text again of which the server kept the first part. False: it repeats that."""
    path = note.path
    was = session.state.base_of(path)
    last = session.unread.last(path, was)
    tries = last.tries + 1 if last else 1
    upload = OpenUpload(path, note.revision, len(note.raw), expected)
    with session.state.transaction():
        session.state.begin_uploads([upload])
    session.record_version(path, note.raw, now)
    stored = session.upload(path, note.raw, expected)
    sent = stored_upload(path, note.raw, hash_of(was), now)
    with session.state.transaction():
        session.record_base(path, note.raw, stored, now)
        session.unread.record(replace(sent, tries=tries))
    return tries <= TRIES


def _with_earlier(overwrite: Overwrite, earlier: Mapping[str, Any]) -> Overwrite:
    """A write together with the stored ones before it: one check covers all of them."""
    writes = earlier.get("writes") or [(earlier["ours"], earlier["base"])]
    return replace(
        overwrite,
        base=earlier["base"],
        size=earlier["size"],
        modified=earlier["modified"],
        at=earlier["at"],
        unseen=earlier.get("unseen", ()),
        young=True,
        writes=((overwrite.ours, overwrite.base), *map(tuple, writes)),
    )
