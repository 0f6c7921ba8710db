"""What the calls of VaultMemory give back: frozen values, whose names are the keys of the JSON contract."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from vault_memory.recall import Hit


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far an answer can be trusted to be of now."""

    stale_files: tuple[str, ...]
    """notes whose file is newer than, or missing from, what was searched"""
    semantic: Literal["ready", "warming", "off"]
    reason: str
    """why `semantic` is not ready; empty when it is"""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, and how fresh they are."""

    hits: "tuple[Hit, ...]"
    freshness: Freshness
    left_out: Mapping[str, int]
    """how many candidates each filter left out; empty unless `why` was asked for"""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of what a prompt is given."""

    kind: str
    """user, facts, channel, memory, rules, dated, reflection, recalled or confirmation"""
    note: str
    """where it stands; empty for what the caller gave"""
    chars: int
    """of `text`, with its marks"""


@dataclass(frozen=True, slots=True)
class Cut:
    """What a prompt is not given, though it was there."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """What a bot puts into its prompt. All that people and others wrote stands in it as quoted data."""

    text: str
    """empty when there is nothing to give"""
    parts: tuple[Part, ...]
    """in the order of `text`"""
    cut: tuple[Cut, ...]
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What bringing the index up to date took."""

    notes: int
    changed: int
    removed: int
    chunks_added: int
    chunks_kept: int
    chunks_removed: int
    embedded: int
    seconds: float


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as it is now. Bytes that are not UTF-8 appear as U+FFFD in `text`."""

    note: str
    revision: str
    text: str
    sections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """One line of the list of notes."""

    note: str
    scope: str
    kind: str
    revision: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a turn. Both are None when it was not to be recorded."""

    id: str | None
    note: str | None
    """the transcript it stands in"""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of what a session told."""

    committed: tuple[str, ...]
    """ids of what was remembered at once"""
    held: tuple[str, ...]
    """ids of what the person said, which waits for the night"""
    dropped: tuple[str, ...]
    """ids of what is not to be remembered"""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `doctor` looked at."""

    name: str
    state: Literal["ok", "warn", "fail"]
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about one path; the path is empty when it is about all of them."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did on both sides, and what is left."""

    uploaded: int = 0
    downloaded: int = 0
    merged: int = 0
    deleted_local: int = 0
    deleted_remote: int = 0
    conflicts: int = 0
    copies: tuple[str, ...] = ()
    """the conflict copies that were made, because two texts could not become one"""
    requests: int = 0
    skipped: tuple[Remark, ...] = ()
    """what is not synced at all"""
    held: tuple[Remark, ...] = ()
    """what a brake stopped, until a person approves"""
    waiting: tuple[Remark, ...] = ()
    """what a later sync decides about"""
    failed: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()
    """for a person to look at"""
    planned: tuple[Remark, ...] = ()
    """what a dry run would do"""
