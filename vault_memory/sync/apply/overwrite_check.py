"""Checks whether an upload of this device overwrote a text on the server that it had not read.

Two writes can pass one precondition at once. A second write within a second, or with the time of the
first, keeps the tag. Where the server keeps versions, they show such a text. It then counts as an edit
of the other side.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from vault_memory.errors import VaultError
from vault_memory.remote.contract import Fetched, FileVersion
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.apply.known_versions import KnownList, KnownVersions, sizes_of
from vault_memory.sync.apply.own_writes import (
    FinishedWrite,
    Overwrite,
    before_ours,
    short_size,
)
from vault_memory.sync.apply.progress import COMPARED_AGAIN, PassResult
from vault_memory.sync.apply.session import (
    RECORDS,
    SHORT,
    TEXT,
    ActionOutdated,
    SyncSession,
)
from vault_memory.sync.apply.unproven_uploads import UNNOTICED_SECONDS, Delivery
from vault_memory.sync.apply.unseen_merge import UnseenMerge
from vault_memory.sync.apply.unseen_texts import OVERWROTE, UnseenTexts
from vault_memory.sync.trees import BaseFile
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

MOST_RECENT = 6
"""Recent versions that are read to prove that a device had read our text; with more, it counts as not"""
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

    def remember(
        self,
        write: FinishedWrite,
        now: datetime,
    ) -> None:
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

    def begin(
        self,
        path: str,
        revision: str,
    ) -> None:
        """Record that a file is new on the server: none of its versions was ever here."""
        if self._session.remote.traits.versions:
            self._known.begin(path, revision)

    def list_before(
        self,
        path: str,
        now: datetime,
    ) -> None:
        """List the versions of a file before a text that another program has just stored is overwritten."""
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
        listed = KnownList(was.hash, sizes_of(versions), modified, before_write=True)
        self._known.save(path, listed)

    # --- What another device had read ---

    def is_successor(
        self,
        path: str,
        was: BaseFile,
        delivery: Delivery,
        fetched: Fetched,
        texts: Collection[str],
    ) -> bool:
        """Whether a device like this one based a text on our last one, as the server's versions prove.

        `texts`: the revisions that were here.
        """
        # A device gives its text a later time than that of the text that it replaces.
        if not 0 < delivery.modified < fetched.modified:
            return False
        # Only a device like this one sends such a checksum.
        if fetched.checksum != revision_of(fetched.raw):
            return False
        listed = self._known.of(path, was.hash)
        if listed is None or listed.before_write:
            return False
        versions = self._session.remote.versions(path, fileid=was.remote_id)
        recent = _recent_others(versions, listed, delivery, fetched)
        if recent is None or len(recent) > MOST_RECENT:
            return False
        # Fault: a program writes with the time and length of ours, or of a text before it, and its
        # text shares that entry. Only the bytes show which text the entry has.
        for version in recent:
            is_ours = _has_shape(version, delivery.modified, delivery.size)
            if not self._holds(path, version, [was.hash] if is_ours else texts):
                return False
        return True

    def _holds(
        self,
        path: str,
        version: FileVersion,
        revisions: Collection[str],
    ) -> bool:
        """Whether a version has the bytes of one of these revisions."""
        try:
            raw = self._session.remote.get_version(
                path, version, max_bytes=self._session.largest
            )
        except (RemoteMissing, Refused):
            return False
        return revision_of(raw) in revisions

    # --- The check ---

    def search(
        self,
        result: PassResult,
        now: datetime,
        *,
        only: str | None = None,
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

    def _try_check(
        self,
        overwrite: Overwrite,
        result: PassResult,
        now: datetime,
    ) -> _CheckOutcome:
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

    def _check(
        self,
        overwrite: Overwrite,
        result: PassResult,
        now: datetime,
    ) -> None:
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
            self._upload_again(overwrite, size, result, now)
            versions = session.remote.versions(path, fileid=overwrite.fileid)
            more, read = self._unseen.look(overwrite, versions, now)
            unseen += [raw for raw in more if raw not in unseen]
        # Fault: a version with a time in the future is listed above ours, and has its length by
        # chance. The server may have kept only a part of ours: its entry is the one of our time.
        for version in versions:
            if version.modified == overwrite.ours_modified:
                session.deliveries.confirm(
                    path, overwrite.ours, version.size, version.modified
                )
        if unseen:
            self._merge.take_over(overwrite, unseen, result, now)
        # Fault: a text that another program wrote over ours has an earlier time. In the list it
        # would count as older than ours, and a text that is based on it as one based on ours.
        listed = KnownList(overwrite.ours, sizes_of(read), overwrite.ours_modified)
        self._known.save(path, listed)

    def _upload_again(
        self,
        overwrite: Overwrite,
        size: int,
        result: PassResult,
        now: datetime,
    ) -> None:
        """Upload our text again over its first part, which the server kept."""
        path, session = overwrite.path, self._session
        was, note = session.state.base_of(path), session.local.read(path)
        if not isinstance(was, BaseFile) or not isinstance(note, Note):
            return
        if not was.hash == note.revision == overwrite.ours:
            return
        try:
            if not session.upload_again(note, was.tag, now):
                result.failed[path] = SHORT.format(kept=size, whole=overwrite.ours_size)
        except RemoteChanged:
            # Another program has already written over the first part.
            session.end_upload(path)
            result.outdated.add(path)


def _with_earlier(
    overwrite: Overwrite,
    earlier: Mapping[str, Any],
) -> Overwrite:
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


def _recent_others(
    versions: Sequence[FileVersion],
    listed: KnownList,
    delivery: Delivery,
    fetched: Fetched,
) -> list[FileVersion] | None:
    """The recent versions except the current text; None when an unknown version is listed."""
    if not versions:
        return None
    earlier = [
        version
        for version in versions
        if not _has_shape(version, fetched.modified, len(fetched.raw))
    ]
    for version in earlier:
        is_ours = _has_shape(version, delivery.modified, delivery.size)
        if not is_ours and not listed.has(version):
            return None
    since = delivery.modified - UNNOTICED_SECONDS
    return [version for version in earlier if version.modified >= since]


def _has_shape(
    version: FileVersion,
    modified: int,
    size: int,
) -> bool:
    """Whether a version has this time and this size."""
    return (version.modified, version.size) == (modified, size)
