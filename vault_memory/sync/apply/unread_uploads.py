"""The uploads of this device that are not yet proven to be complete and read by others.

Some clients overwrite a file without a precondition. Some servers report a file as stored and keep half
of it. Both faults concern only the latest uploads of a path, and only for a short time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Literal

from vault_memory.remote.contract import Entry
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import BaseFile, BaseNode
from vault_memory.vault.snapshots import revision_of

UNNOTICED_SECONDS = 60.0
"""A client uploads within this time after it has read the server's text"""
TRUSTED_GAP = 600
"""Only a longer gap between two times of the server is proof: clients set those times, too"""

Evidence = Literal["unanswered", "reported", "whole", "part"]
"""What is known of the stored text: nothing, what the server answered, that all of it or only its first part is listed"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentUpload:
    """An upload of this device."""

    path: str
    revision: str
    before: str
    """the revision that it replaced on the server; empty for none"""
    size: int
    at: float
    """Unix seconds on the clock of this device: when it was sent"""
    modified: int = 0
    """the time that the server lists for it; 0 until it is listed"""
    evidence: Evidence = "reported"
    in_parts: bool = False
    """whether the server first kept only a part of it: other devices may have read that part"""
    tries: int = 1
    """how often it was sent, because the server kept only the first part"""

    @property
    def was_at_once(self) -> bool:
        """Whether no other device can have read a part of it alone, as this device knows."""
        return self.evidence == "whole" and not self.in_parts

    def may_be_unread(self, modified: int, now: float) -> bool:
        """Whether the author of a later text may not have read it.

        `modified`: the server's time of the later text.
        """
        # Fault: the server kept half of it. The author of a later text has read only that half.
        if self.evidence == "part" or not self.modified:
            return True
        gap = modified - self.modified
        # Fault: a wrong clock sets the server's times. Then the gap is longer than the time that
        # passed here, and proves nothing.
        return not TRUSTED_GAP <= gap <= now - self.at + UNNOTICED_SECONDS


def stored_upload(path: str, raw: bytes, before: str, now: datetime) -> SentUpload:
    """An upload that the server reports as stored, and that replaced the revision `before`."""
    return SentUpload(
        path=path, revision=revision_of(raw), before=before, size=len(raw), at=now.timestamp()
    )


class UnreadUploads:
    """The table of these uploads.

    Those of a path are a chain: each replaced the one before it, and the newest one is the base.
    """

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def record(self, upload: SentUpload) -> None:
        """Record an upload that the server reports as stored, or that it did not answer."""
        chain = self._chains(upload.path)[upload.path]
        if chain and chain[0].revision == upload.revision:
            # The server kept only a part of it at first.
            upload = replace(upload, before=chain[0].before, in_parts=True)
            if upload.evidence == "unanswered":
                upload = replace(upload, evidence=chain[0].evidence)
            del chain[0]
        elif chain and chain[0].evidence == "unanswered":
            del chain[0]
        with self._state.transaction():
            self._store(upload.path, [upload, *_unread_before(upload, chain)])
            if upload.evidence != "unanswered":
                self._state.clear_folder_tags(upload.path)

    def chain(self, path: str, was: BaseNode | None) -> list[SentUpload]:
        """The uploads that led to the base of a path, the newest first.

        The newest one may be unanswered. Then the base is the text before it.
        """
        chain = self._chains(path)[path]
        if not chain or not isinstance(was, BaseFile):
            return []
        newest = chain[0]
        last = newest.before if newest.evidence == "unanswered" else newest.revision
        return chain if last == was.hash else []

    def last(self, path: str, was: BaseNode | None) -> SentUpload | None:
        """The upload that is the base of a path."""
        chain = self.chain(path, was)
        return chain[0] if chain and chain[0].evidence != "unanswered" else None

    def is_whole(self, path: str) -> bool:
        """Whether the server has shown the last upload of a path with its full size."""
        chain = self._chains(path)[path]
        return not chain or chain[0].evidence == "whole"

    def observe(
        self,
        entries: Mapping[str, Entry],
        base: Mapping[str, BaseNode],
        now: float,
        *,
        listed: bool,
    ) -> None:
        """Forget the uploads that were complete for a while: each program that writes now has read them.

        `listed`: the entries come from a new listing. Otherwise, only time has passed.
        """
        racy = self._state.racy()
        fetched_hashes = self._state.fetched_hashes()
        for path, chain in self._chains().items():
            was, newest = base.get(path), chain[0]
            if self.chain(path, was) and isinstance(was, BaseFile):
                entry = entries.get(path)
                if entry is None or entry.etag != was.tag:
                    continue
                newest = self._observe_size(newest, entry) if listed else newest
                # Fault: another text has the tag of ours, and its author had not read ours.
                is_hidden = _has_other_bytes(was, fetched_hashes.get(path))
                if path in racy or is_hidden or newest.evidence in ("reported", "part"):
                    continue
            if not 0 <= now - newest.at < UNNOTICED_SECONDS:
                with self._state.transaction():
                    self._store(path, [])

    def confirm(self, path: str, revision: str, size: int, modified: int) -> None:
        """Record the size and the time that the server's list of versions shows for an upload."""
        for newest in self._chains(path)[path][:1]:
            if newest.revision != revision:
                return
            if size < newest.size:
                self._update(replace(newest, evidence="part"))
            elif size == newest.size:
                self._update(replace(newest, evidence="whole", modified=modified))

    def correct_before(self, path: str, revision: str, before: str) -> None:
        """Record which text an upload has replaced, if that is another one than this device believed."""
        for newest in self._chains(path)[path][:1]:
            # The text before an unanswered upload is the base, which links it to the uploads before it.
            if newest.revision == revision and newest.evidence != "unanswered":
                self._update(replace(newest, before=before))

    def _observe_size(self, upload: SentUpload, entry: Entry) -> SentUpload:
        """Record that the server lists the complete file."""
        # Fault: another text has the size of ours. Its checksum shows that.
        is_same = entry.size == upload.size and entry.checksum in ("", upload.revision)
        if upload.evidence in ("whole", "unanswered") or not is_same:
            return upload
        complete = replace(upload, evidence="whole", modified=entry.modified)
        self._update(complete)
        return complete

    # --- The table ---

    def _chains(self, path: str | None = None) -> defaultdict[str, list[SentUpload]]:
        """The uploads of one path or of all, the newest first."""
        rows = self._state.connection.execute(
            "SELECT path, revision, before, size, at, modified, evidence, in_parts, tries"
            " FROM sent WHERE ?1 IS NULL OR path = ?1 ORDER BY path, number",
            (path,),
        )
        chains: defaultdict[str, list[SentUpload]] = defaultdict(list)
        for of_path, revision, before, size, at, modified, evidence, parts, tries in rows:
            upload = SentUpload(
                path=of_path,
                revision=revision,
                before=before,
                size=size,
                at=at,
                modified=modified,
                evidence=evidence,
                in_parts=bool(parts),
                tries=tries,
            )
            chains[of_path].append(upload)
        return chains

    def _update(self, newest: SentUpload) -> None:
        chain = self._chains(newest.path)[newest.path]
        with self._state.transaction():
            self._store(newest.path, [newest, *chain[1:]])

    def _store(self, path: str, chain: Sequence[SentUpload]) -> None:
        connection = self._state.connection
        connection.execute("DELETE FROM sent WHERE path = ?", (path,))
        connection.executemany(
            "INSERT INTO sent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(number, *astuple(upload)) for number, upload in enumerate(chain)],
        )


def _unread_before(upload: SentUpload, chain: Sequence[SentUpload]) -> Sequence[SentUpload]:
    """The uploads before an upload that others may not have read."""
    if not chain or chain[0].revision != upload.before:
        return ()
    # An upload without an answer may not have arrived, so it ends nothing.
    if upload.evidence == "unanswered":
        return chain
    # Each program that writes from now on has read the texts from before the last minute.
    return [earlier for earlier in chain if 0 <= upload.at - earlier.at < UNNOTICED_SECONDS]


def _has_other_bytes(was: BaseFile, fetched: tuple[str, str] | None) -> bool:
    """Whether bytes that differ from the base were fetched under its tag."""
    if fetched is None:
        return False
    tag, hashed = fetched
    return tag == was.tag and hashed != was.hash
