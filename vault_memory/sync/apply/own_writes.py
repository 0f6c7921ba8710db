"""Which versions on the server may hold a text that a write of ours replaced unseen.

Clients give files any time they like, so a time does not prove the order of two texts. A version
that is listed now, and was not listed while a text of ours was the last one, was written over it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from vault_memory.remote.contract import FileVersion, PutResult
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import BaseFile

LATELY = 3
"""Seconds within which the times of several writes do not prove their order"""
NOTHING = BaseFile("", "")
"""The base of a file that this device wanted to create"""
SAME_PASS = 1.0
"""A check within so many seconds after the write is not late"""
_FACT = "versions "
"""Key prefix of the sync state: the versions that were listed while one text was the last; the path follows"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedWrite:
    """An upload that the server reports as stored, before it is recorded as the base."""

    path: str
    raw: bytes
    replaced: BaseFile
    """what it replaced, as this device believed"""
    stored: PutResult
    young: bool
    """whether another program may have written at the same moment"""
    tag: str = ""
    """the tag that `replaced` was last listed with, if it is another one now"""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A write of ours over a file, until the check of what it replaced is done."""

    path: str
    fileid: str
    base: str
    """the hash of what we believed to replace"""
    size: int
    modified: int
    """the time of that text, as last listed; 0 when unknown"""
    ours: str
    ours_size: int
    young: bool
    """whether another program may have written: then size and time prove nothing"""
    at: float
    """Unix seconds on the clock of this device: when the first of `writes` was made"""
    writes: tuple[tuple[str, str], ...] = ()
    """our unchecked writes, the newest first: the revision of each, and of what it replaced"""
    ours_modified: int = 0
    """the time that our write gave the file; 0 when unknown"""
    date: int = 0
    """the server's clock when our write was done; 0 when unknown"""
    crossed: bool = False
    """whether another program wrote the file within the last minute"""
    unseen: tuple[tuple[int, str], ...] = ()
    """texts that an interrupted check has read: the times and revisions of their versions"""


@dataclass(frozen=True, slots=True)
class KnownList:
    """The versions of a file as they were listed while one text was the last."""

    revision: str
    """of that text"""
    sizes: dict[str, int]
    """by id"""
    modified: int = 0
    """the time that the server gave that text; 0 when it is not known"""

    def has(self, version: FileVersion) -> bool:
        """Whether this version was listed with its size."""
        return self.sizes.get(version.id) == version.size


class KnownVersions:
    """The last list of versions of each file."""

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def of(self, path: str, revision: str) -> KnownList | None:
        """The list that was made while this revision was the last one; None when none was made."""
        fact = self._state.meta(_FACT + path)
        if not isinstance(fact, dict) or "sizes" not in fact:
            return None
        if fact["revision"] != revision:
            return None
        return KnownList(**fact)

    def begin(self, path: str, revision: str) -> None:
        """Record an empty list: the file is new on the server, and none of its versions was ever here."""
        self._state.set_meta(_FACT + path, asdict(KnownList(revision, {})))

    def save(self, path: str, known_list: KnownList) -> None:
        """Store a list of the versions whose bytes this device knows."""
        with self._state.transaction():
            self._state.set_meta(_FACT + path, asdict(known_list))


def sizes_of(versions: Sequence[FileVersion]) -> dict[str, int]:
    """The sizes of versions, by id."""
    return {version.id: version.size for version in versions}


def has_time_of_its_own(write: Overwrite) -> bool:
    """Whether no other program can have written at the time of our write since we asked."""
    # Fault: a file that another client made may have any time, by chance that of ours.
    if write.base == NOTHING.hash:
        return False
    is_past = 0 < write.ours_modified < write.date - 1
    return is_past and write.ours_modified != write.modified


def earliest(write: Overwrite) -> int:
    """The earliest time of a text written after the one that we replaced; 0 when not known."""
    # Fault: clients give new files old times, and no text of theirs was ever here.
    if write.base == NOTHING.hash:
        return 0
    if not write.date:
        return write.modified
    lately = write.date - LATELY
    if 0 < write.modified < lately:
        return write.modified
    # Fault: a text of the last seconds has a time in the future. What came after it is older.
    return min(write.modified or lately, lately)


def short_size(write: Overwrite, versions: Sequence[FileVersion]) -> int | None:
    """Bytes of the version with the time of our write, if the server kept only a part of it."""
    if not write.ours_modified or write.ours_modified == write.modified:
        return None
    for version in versions:
        is_ours_by_time = version.modified == write.ours_modified
        if is_ours_by_time and version.size < write.ours_size:
            return version.size
    return None


def is_ours(write: Overwrite, version: FileVersion) -> bool:
    """Whether a version has the time and the length of our write."""
    return (version.size, version.modified) == (write.ours_size, write.ours_modified)


def before_ours(ours: Overwrite, versions: Sequence[FileVersion]) -> list[FileVersion]:
    """The versions of an earlier time than our write.

    A later one may share the entry of the current text.
    """
    until = ours.ours_modified
    return [version for version in versions if version.modified < until]


def is_later(write: Overwrite, version: FileVersion, passed: float) -> bool:
    """Whether the time of a version proves that it came after our write.

    `passed` are the seconds since our write.
    """
    if not write.date or passed <= SAME_PASS:
        return False
    # Fault: our time is in the future. A text that another client writes at that time shares the
    # entry of ours, and the next write at another time deletes it. An earlier one may be below ours.
    latest = max(write.date + 1, write.ours_modified)
    return latest < version.modified <= write.date + passed + 1


def candidates(
    write: Overwrite, versions: Sequence[FileVersion], listed: KnownList | None, *, passed: float
) -> list[FileVersion]:
    """The versions that may hold an unseen text, the newest first.

    `listed`: the versions that existed before our write; None when unknown. Others replaced their
    texts, so there is nothing to rescue.
    `passed` are the seconds since our write.
    """
    new: list[FileVersion] = []
    for version in versions:
        if _is_replaced_text(write, version):
            if listed is None and earliest(write) == write.modified:
                break  # the versions that follow are older
            continue
        if not _was_listed(write, version, listed) and _may_be_unseen(
            write, version, listed, passed
        ):
            new.append(version)
    return new


def _is_replaced_text(write: Overwrite, version: FileVersion) -> bool:
    """Whether a version is the text that we replaced."""
    # Fault: another text of its length takes its entry in the same second: a young entry proves
    # nothing.
    is_same = (version.modified, version.size) == (write.modified, write.size)
    return is_same and not write.young


def _was_listed(write: Overwrite, version: FileVersion, listed: KnownList | None) -> bool:
    """Whether a version was listed before our write, and is not the one that we replaced."""
    if listed is None or version.modified == write.modified:
        return False
    return listed.has(version)


def _may_be_unseen(
    write: Overwrite, version: FileVersion, listed: KnownList | None, passed: float
) -> bool:
    """Whether a version that is neither listed nor the replaced one may hold an unseen text."""
    is_alone = has_time_of_its_own(write) and not write.crossed
    if is_ours(write, version) and is_alone:
        return False  # nothing shares its entry
    if listed is None and version.modified < earliest(write):
        return False
    return not is_later(write, version, passed)
