"""What a prompt is given: frozen values, named as in the JSON contract."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vault_memory.search.freshness import Freshness


class Part(NamedTuple):
    """One part of what a prompt is given."""

    kind: str
    """user, facts, channel, memory, rules, dated, reflection, recalled or confirmation"""
    note: str
    """where it stands; empty for what the caller gave"""
    chars: int
    """of `text`, with its marks"""


class Cut(NamedTuple):
    """What a prompt is not given, though it was there."""

    kind: str
    reason: str


class ContextBlock(NamedTuple):
    """What a bot puts into its prompt. All that people and others wrote stands in it as quoted data."""

    text: str
    """empty when there is nothing to give"""
    parts: tuple[Part, ...]
    """in the order of `text`"""
    cut: tuple[Cut, ...]
    freshness: "Freshness"
