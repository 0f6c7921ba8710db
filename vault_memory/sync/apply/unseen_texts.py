"""Rescues the texts that a write of this device replaced unseen.

They are read from the versions on the server, and merged into the vault; the next pass uploads them.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from operator import itemgetter

from vault_memory.remote.contract import FileVersion
from vault_memory.remote.remote_errors import Refused, RemoteMissing
from vault_memory.sync.apply.own_writes import (
    NOTHING,
    KnownList,
    KnownVersions,
    Overwrite,
    candidates,
    earliest,
    is_later,
    is_ours,
)
from vault_memory.sync.apply.session import RECORDS, TEXT, ActionOutdated, SyncSession
from vault_memory.sync.pass_report import PassResult
from vault_memory.sync.plan.awareness import SentText, common_text, join_records
from vault_memory.sync.plan.name_clashes import beside
from vault_memory.sync.plan.safety_limits import stamp
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of

OVERWROTE = "overwrote "
"""Key prefix of the sync state: a write whose replaced text is not checked yet; the path follows"""
DEEPEST = 12
"""Versions on the server that are read"""
OLDER = 60
"""Versions here that another program may have read"""
_SAME_MOMENT = "another program stored it at the same moment as this device"
JOINED = f"{_SAME_MOMENT}; the note has both texts now"
ASIDE = f"{_SAME_MOMENT}; its text is in `{{copy}}`"
LEFT = (
    "this device overwrote a text that another program had just stored; "
    "the server's versions have it"
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one check of a write has read."""

    unseen: dict[str, tuple[int, bytes]]
    """unseen texts by revision, each with the time of its version"""
    unread: set[str]
    """ids of versions whose bytes are not known"""
    found_base: bool = False
    """whether the text that we replaced was among the versions: all after it are older"""


class UnseenTexts:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession, known_versions: KnownVersions) -> None:
        self._session = session
        self._known = known_versions

    def look(
        self, write: Overwrite, versions: Sequence[FileVersion], now: datetime
    ) -> tuple[list[bytes], list[FileVersion]]:
        """The unseen texts that our write replaced, the oldest first; the versions that are read.

        The second are those whose bytes this device knows: not the current content, and not what other
        programs have written since.
        """
        listed = self._known.of(write.path, write.base)
        passed = now.timestamp() - write.at
        chosen = candidates(write, versions, listed, passed=passed)
        reading = self._read(write, chosen, listed, now)
        unread = reading.unread | _ids_of_later(write, versions, listed, passed)
        read = [version for version in versions if version.id not in unread]
        # Without a list or a time, it is unknown which of the versions are older than our base.
        is_bounded = listed is not None or earliest(write) > 0
        is_new_file = write.base == NOTHING.hash
        if not (is_bounded or is_new_file or reading.found_base):
            return [], read
        return _oldest_first(reading.unseen), read

    def _read(
        self,
        write: Overwrite,
        chosen: Sequence[FileVersion],
        listed: KnownList | None,
        now: datetime,
    ) -> _Reading:
        """Read the versions that may have an unseen text, down to the text that we replaced."""
        unseen = self._read_before(write)
        seen = self._seen_revisions(write, unseen)
        unread = _ids(chosen)
        for index, version in enumerate(chosen[:DEEPEST]):
            raw = self._bytes_of(write.path, version)
            # The current content is listed and cannot be read; an expired version is of no use.
            if raw is not None or is_ours(write, version):
                unread.discard(version.id)
            if raw is None or _was_listed_before(write, version, raw, listed):
                continue
            if listed is None and _is_replaced_text(write, raw):
                older = chosen[index:]
                return _Reading(unseen, unread - _ids(older), found_base=True)
            revision = revision_of(raw)
            if revision not in unseen and not self._is_seen(raw, seen):
                unseen[revision] = (version.modified, raw)
                self._store_unseen(write, unseen, raw, now)
        return _Reading(unseen, unread)

    def _bytes_of(self, path: str, version: FileVersion) -> bytes | None:
        """The bytes of a version; None where the server does not give them."""
        try:
            return self._session.remote.get_version(path, version, max_bytes=self._session.largest)
        except (RemoteMissing, Refused):
            return None

    def _read_before(self, write: Overwrite) -> dict[str, tuple[int, bytes]]:
        """Unseen texts that an earlier check has read, by revision, each with the time of its version."""
        texts: dict[str, tuple[int, bytes]] = {}
        for modified, revision in write.unseen:
            raw = self._session.sent_bytes(revision)
            if raw is not None:
                texts[revision] = (modified, raw)
        return texts

    def _store_unseen(
        self, write: Overwrite, unseen: dict[str, tuple[int, bytes]], raw: bytes, now: datetime
    ) -> None:
        """Store an unseen text at once."""
        # Fault: this check is interrupted, and the server deletes the version before the next one.
        # It deletes most versions of one moment, and a later write in a second replaces its version.
        if not write.path.endswith((*TEXT, *RECORDS)):
            return
        self._session.record_version(write.path, raw, now, by="sync")
        revisions = tuple((modified, revision) for revision, (modified, _) in unseen.items())
        stored = replace(write, unseen=revisions)
        with self._session.state.transaction():
            self._session.state.set_meta(OVERWROTE + write.path, asdict(stored))

    def _seen_revisions(self, write: Overwrite, unseen: Collection[str]) -> list[str]:
        """Revisions that were here, the latest first, without the unseen ones."""
        unchecked = [revision for pair in write.writes for revision in pair]
        with self._session.writing() as writer:
            versions = writer.snapshots.chain(write.path)
            chain = [version.revision for version in versions]
        revisions = dict.fromkeys([write.ours, write.base, *unchecked, *chain])
        return [revision for revision in revisions if revision not in unseen]

    def _is_seen(self, raw: bytes, seen: Sequence[str]) -> bool:
        """Whether a text was here, or is the first part of one whose upload was cut off."""
        if revision_of(raw) in seen:
            return True
        texts = map(self._session.sent_bytes, seen[:OLDER])
        return any(text is not None and text.startswith(raw) for text in texts)


class UnseenMerge:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session

    def take_over(
        self, overwrite: Overwrite, unseen: Sequence[bytes], result: PassResult, now: datetime
    ) -> None:
        """Merge unseen texts into the note, or write a copy of each. Raises ActionOutdated."""
        path = overwrite.path
        if not self._session.writes_here:
            result.notes.append((path, LEFT))
            return
        merged: bytes | None = None
        note: Note | None = None
        if path.endswith((*TEXT, *RECORDS)):
            local = self._session.local.read(path)
            if isinstance(local, Note):
                note = local
                merged = self._merged(overwrite, note.raw, unseen, now)
        if note is None or merged is None:
            self._write_copies(path, unseen, result, now)
            return
        if merged != note.raw:
            outcome = self._session.write_local(path, merged, note.revision, now)
            if outcome == "copied":
                raise ActionOutdated
        for text in unseen:
            self._session.record_version(path, text, now, by="sync")
        self._session.record_version(path, merged, now, by="sync")
        result.merged.append(path)
        result.acted += 1
        result.notes.append((path, JOINED))

    def _merged(
        self, overwrite: Overwrite, local: bytes, unseen: Sequence[bytes], now: datetime
    ) -> bytes | None:
        """The local text with all unseen ones; None when they cannot be merged."""
        merged: bytes | None = local
        for text in unseen:
            if merged is None:
                return None
            merged = self._merged_with(overwrite, merged, text, now)
        return merged

    def _merged_with(
        self, overwrite: Overwrite, local: bytes, theirs: bytes, now: datetime
    ) -> bytes | None:
        """Two texts merged; None when they cannot be."""
        if overwrite.path.endswith(RECORDS):
            return join_records([local, theirs])
        date = f"{now:%Y-%m-%d}"
        base: bytes | None = None
        if overwrite.base != NOTHING.hash:
            base = self._session.sent_bytes(overwrite.base)
        if base is not None:
            # Fault: some clients send no precondition, and base their text on an older version than
            # the one that we replaced. The lines that it lacks came later, and were not removed.
            base = common_text(SentText(base, base), theirs, date)
        forms = self._session.recent_forms(overwrite.path, now)
        return forms.merge(base, local, theirs, date)

    def _write_copies(
        self, path: str, unseen: Sequence[bytes], result: PassResult, now: datetime
    ) -> None:
        state = self._session.state
        for text in unseen:
            used_names = {*state.hashes(), *state.base(), *result.conflicts}
            label = f"memory copy {stamp(now, None)} server"
            copy = beside(path, label, used_names)
            if self._session.write_local(copy, text, None, now) == "copied":
                raise ActionOutdated
            result.conflicts.append(copy)
            result.acted += 1
            result.notes.append((path, ASIDE.format(copy=copy)))


def _ids(versions: Sequence[FileVersion]) -> set[str]:
    return {version.id for version in versions}


def _ids_of_later(
    write: Overwrite, versions: Sequence[FileVersion], listed: KnownList | None, passed: float
) -> set[str]:
    """The ids of the versions that came after our write and were not listed before it."""
    later = [version for version in versions if is_later(write, version, passed)]
    if listed is None:
        return _ids(later)
    return _ids([version for version in later if not listed.has(version)])


def _is_replaced_text(write: Overwrite, raw: bytes) -> bool:
    """Whether these are the bytes that our write replaced, and nothing older is in question."""
    return revision_of(raw) == write.base and earliest(write) in (0, write.modified)


def _was_listed_before(
    write: Overwrite, version: FileVersion, raw: bytes, listed: KnownList | None
) -> bool:
    """Whether the bytes of a version are those that were listed before our write."""
    # Fault: a later write of that second is listed in their place, with its own size.
    if listed is None or version.modified == write.modified:
        return False
    return listed.sizes.get(version.id) == len(raw) != version.size


def _oldest_first(unseen: dict[str, tuple[int, bytes]]) -> list[bytes]:
    """Unseen texts by the times of their versions; among equal times the last read is the oldest."""
    last_read_first = list(unseen.values())[::-1]
    by_time = sorted(last_read_first, key=itemgetter(0))
    return [raw for _, raw in by_time]
