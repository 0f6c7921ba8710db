"""A write of ours, and the versions on the server that may hold a text which it replaced unseen. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from vault_memory.remote.contract import FileVersion
from vault_memory.sync.apply.known_versions import KnownList
from vault_memory.sync.apply.unproven_uploads import UNNOTICED_SECONDS
from vault_memory.sync.trees import BaseFile

LATELY = 3
"""Seconds in which the times of several writes need not tell their order"""
NOTHING = BaseFile("", "")
"""What a file replaced that was to be a new one"""
SAME_PASS = 1.0
"""A look so many seconds after the write is not late"""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A write of ours over a file whose bytes we believed to know."""

    path: str
    fileid: str
    base: str
    """the hash of what we believed to replace"""
    size: int
    modified: int
    """of that, as last listed; 0 when that is not known"""
    ours: str
    ours_size: int
    young: bool
    """whether something speaks for another writer: then nothing is taken for known by its size and time"""
    at: float
    writes: tuple[tuple[str, str], ...] = ()
    """when there were several, those of us between the two, the newest first: what each wrote, and over what"""
    ours_modified: int = 0
    """the time that our write gave the file; 0 when that is not known"""
    date: int = 0
    """the server's clock when our write was done; 0 when that is not known"""
    crossed: bool = False
    """whether somebody else wrote the file within the last minute"""
    unseen: tuple[tuple[int, str], ...] = ()
    """texts that a look has read before it broke off: the times and revisions of their versions"""


def has_time_of_its_own(one: Overwrite) -> bool:
    """Whether our write has a time at which nobody else can have written since the server was asked."""
    if one.base == NOTHING.hash:
        return False  # a file that another client made may have any time, by chance that of ours
    return one.ours_modified != one.modified and 0 < one.ours_modified < one.date - 1


def earliest(one: Overwrite) -> int:
    """The earliest time of a text that was written after the one that we replaced; 0 when that is not known.

    A text of the last seconds may have got a time in the future, so that what came after it is listed as older.
    """
    if one.base == NOTHING.hash:
        return 0  # clients give new files old times; all that another client put there was never here
    if not one.date:
        return one.modified
    lately = one.date - LATELY
    return (
        min(one.modified or lately, lately)
        if one.modified == 0 or one.modified >= lately
        else one.modified
    )


def short_size(one: Overwrite, versions: Sequence[FileVersion]) -> int | None:
    """How long the text is that has the time of our write, if the server kept only a part of it."""
    if not one.ours_modified or one.ours_modified == one.modified:
        return None
    sizes = (
        version.size for version in versions if version.modified == one.ours_modified
    )
    return next((size for size in sizes if size < one.ours_size), None)


def is_ours(one: Overwrite, version: FileVersion) -> bool:
    """Whether a version has the time and the length of our write."""
    return (version.size, version.modified) == (one.ours_size, one.ours_modified)


def before_ours(ours: Overwrite, versions: Sequence[FileVersion]) -> list[FileVersion]:
    """The versions of an earlier time than our write. A later one may share the entry of the text of now."""
    until = ours.ours_modified
    return [version for version in versions if version.modified < until]


def is_later(one: Overwrite, version: FileVersion, passed: float) -> bool:
    """Whether others have written this version since, as far as its time tells. `passed`: seconds since our write."""
    if not one.date or passed <= SAME_PASS:
        return False
    # Fault: our time may lie ahead. A text that comes to stand at that time shares the entry
    # of ours, and the next write at another time wipes it out. An earlier one may lie below ours.
    latest = max(one.date + 1, one.ours_modified)
    return latest < version.modified <= one.date + passed + 1


def may_hide_another(one: Overwrite, version: FileVersion) -> bool:
    """Whether a listed version may hold another text by now.

    Fault: a program that has read a text of the last minute uploads another one with its time
    and its length. That takes the entry of the text that it had read, and the list stays as it was.
    """
    return one.crossed and version.modified >= one.date - UNNOTICED_SECONDS


def candidates(
    one: Overwrite,
    versions: Sequence[FileVersion],
    listed: KnownList | None,
    *,
    passed: float,
) -> list[FileVersion]:
    """Versions that may hold a text that nobody here has seen: new ones first, the newest first.

    `listed`: what was there before our write, where that is known. `passed`: seconds since our write.
    """
    chosen: list[FileVersion] = []
    listed_before: list[FileVersion] = []
    floor = earliest(one)
    for version in versions:
        is_base = version.modified == one.modified
        if is_ours(one, version) and has_time_of_its_own(one) and not one.crossed:
            continue  # nothing shares its entry
        if is_base and version.size == one.size and not one.young:
            if listed is None and floor == one.modified:
                break  # what follows is older
            continue
        # Another text may have come to stand in the entry of the one that we replaced: same length, same second.
        if listed is not None and listed.has(version) and not is_base:
            if not may_hide_another(one, version):
                continue
            listed_before.append(version)
            continue
        if listed is None and version.modified < floor:
            continue
        if is_later(one, version, passed):
            continue  # others have written since
        chosen.append(version)
    return chosen + listed_before
