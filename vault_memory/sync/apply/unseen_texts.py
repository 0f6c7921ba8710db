"""Reads the texts that a write of ours replaced unseen from the versions on the server."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from operator import itemgetter

from vault_memory.remote.contract import FileVersion
from vault_memory.remote.remote_errors import RemoteMissing
from vault_memory.sync.apply.known_versions import KnownList, KnownVersions
from vault_memory.sync.apply.own_writes import (
    NOTHING,
    Overwrite,
    candidates,
    earliest,
    is_later,
    is_ours,
)
from vault_memory.sync.apply.session import RECORDS, TEXT, SyncSession
from vault_memory.vault.snapshots import revision_of

OVERWROTE = "overwrote "
"""The fact of a write of which it is not known yet what it replaced; the path follows"""
DEEPEST = 12
"""Versions on the server that are read"""
OLDER = 60
"""Versions here that another program may have read"""


class UnseenTexts:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession, known: KnownVersions) -> None:
        self._session = session
        self._known = known

    def look(
        self, one: Overwrite, versions: Sequence[FileVersion], now: datetime
    ) -> tuple[list[bytes], list[FileVersion]]:
        """The unseen texts that our write replaced, the oldest first; the versions that are read.

        The second are those whose bytes are known: not the current content, and not what others
        have written since.
        """
        listed = self._known.of(one.path, one.base)
        passed = now.timestamp() - one.at
        chosen = candidates(one, versions, listed, passed=passed)
        reading = self._read(one, chosen, listed, now)
        unread = reading.unread | _ids_of_later(one, versions, listed, passed)
        read = [version for version in versions if version.id not in unread]
        is_complete = (
            reading.found_base
            or listed is not None
            or one.base == NOTHING.hash
            or earliest(one) > 0
        )
        return _oldest_first(reading.unseen) if is_complete else [], read

    def _read(
        self,
        one: Overwrite,
        chosen: Sequence[FileVersion],
        listed: KnownList | None,
        now: datetime,
    ) -> "_Reading":
        """Read the versions that may hold an unseen text, down to the text that we replaced."""
        unseen = self._read_before(one)
        seen = [revision for revision in self._seen(one) if revision not in unseen]
        unread = {version.id for version in chosen}
        for index, version in enumerate(chosen[:DEEPEST]):
            raw = self._bytes_of(one, version)
            # The current content is listed and cannot be read; what expired is of no use.
            if raw is not None or is_ours(one, version):
                unread.discard(version.id)
            if raw is None or _was_listed_before(one, version, raw, listed):
                continue
            if listed is None and _is_replaced_text(one, raw):
                older = {version.id for version in chosen[index:]}
                return _Reading(unseen, unread - older, found_base=True)
            revision = revision_of(raw)
            if revision not in unseen and not self._is_seen(raw, seen):
                unseen[revision] = (version.modified, raw)
                self._keep_unseen(one, unseen, raw, now)
        return _Reading(unseen, unread)

    def _bytes_of(self, one: Overwrite, version: FileVersion) -> bytes | None:
        """The bytes of a version; None where the server does not have them."""
        try:
            return self._session.remote.get_version(
                one.path, version, max_bytes=self._session.largest
            )
        except RemoteMissing:
            return None

    def _read_before(self, one: Overwrite) -> dict[str, tuple[int, bytes]]:
        """Unseen texts that an earlier look has read, by revision, each with the time of its version."""
        texts = (
            (modified, revision, self._session.sent_bytes(revision))
            for modified, revision in one.unseen
        )
        return {
            revision: (modified, raw)
            for modified, revision, raw in texts
            if raw is not None
        }

    def _keep_unseen(
        self,
        one: Overwrite,
        unseen: dict[str, tuple[int, bytes]],
        raw: bytes,
        now: datetime,
    ) -> None:
        """Keep a text at once: when this look breaks off, the server may not have it any more for the next one.

        A server lets most versions of one moment go, and a further write in a second replaces the version of it.
        """
        if not one.path.endswith((*TEXT, *RECORDS)):
            return
        self._session.keep(one.path, raw, now, by="sync")
        revisions = tuple(
            (modified, revision) for revision, (modified, _) in unseen.items()
        )
        with self._session.state.transaction():
            self._session.state.set_meta(
                OVERWROTE + one.path, asdict(replace(one, unseen=revisions))
            )

    def _seen(self, one: Overwrite) -> list[str]:
        """Revisions that were here, the latest first."""
        ours = [
            one.ours,
            one.base,
            *(revision for write in one.writes for revision in write),
        ]
        with self._session.writing() as writer:
            chain = [version.revision for version in writer.snapshots.chain(one.path)]
        return [*dict.fromkeys((*ours, *chain))]

    def _is_seen(self, raw: bytes, seen: Sequence[str]) -> bool:
        """Whether a text was here, or is the first part of one whose upload was cut off."""
        if revision_of(raw) in seen:
            return True
        texts = map(self._session.sent_bytes, seen[:OLDER])
        return any(text is not None and text.startswith(raw) for text in texts)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a look behind a write has read."""

    unseen: dict[str, tuple[int, bytes]]
    """unseen texts by revision, each with the time of its version"""
    unread: set[str]
    """ids of versions whose bytes are not known"""
    found_base: bool = False
    """whether the text that we replaced was among the versions: what follows it is older"""


def _ids_of_later(
    write: Overwrite,
    versions: Sequence[FileVersion],
    listed: KnownList | None,
    passed: float,
) -> set[str]:
    """The ids of the versions that came after our write and were not listed before it."""
    return {
        version.id
        for version in versions
        if is_later(write, version, passed)
        and not (listed is not None and listed.has(version))
    }


def _is_replaced_text(write: Overwrite, raw: bytes) -> bool:
    """Whether these are the bytes that our write replaced, and nothing older is in question."""
    return revision_of(raw) == write.base and earliest(write) in (0, write.modified)


def _was_listed_before(
    write: Overwrite, version: FileVersion, raw: bytes, listed: KnownList | None
) -> bool:
    """Whether the bytes of a version are those that were listed before our write.

    Fault: a later write of that second is listed in their place, with its own size.
    """
    if listed is None or version.modified == write.modified:
        return False
    return listed.sizes.get(version.id) == len(raw) != version.size


def _oldest_first(unseen: dict[str, tuple[int, bytes]]) -> list[bytes]:
    """Unseen texts by the times of their versions; among equal times the last read is the oldest."""
    last_read_first = list(unseen.values())[::-1]
    by_time = sorted(last_read_first, key=itemgetter(0))
    return [raw for _, raw in by_time]
