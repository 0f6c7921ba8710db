"""The memory block of a prompt: frozen values, named as in the JSON contract."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vault_memory.search.freshness import Freshness


class Part(NamedTuple):
    """One part of a block."""

    kind: str
    """user, facts, channel, memory, rules, dated, reflection, recalled or confirmation"""
    note: str
    """path of the note; empty for text from the caller"""
    chars: int
    """of `text`, with its marks"""


class Cut(NamedTuple):
    """Text that was left out of a block."""

    kind: str
    reason: str


class ContextBlock(NamedTuple):
    """The block that a bot puts into its prompt. Text of people is in it as quoted data."""

    text: str
    """empty when the vault has nothing for the prompt"""
    parts: tuple[Part, ...]
    """in the order of `text`"""
    cut: tuple[Cut, ...]
    freshness: "Freshness"
