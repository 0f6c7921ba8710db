"""What a question gets back: frozen values, whose names are the keys of the JSON contract."""

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
