"""The rules of a bot's memory, pure: no files, no clocks. What a path means, which names are memory."""

from vault_memory.memory.layout import KINDS, Layout, Pattern, Place, bots
from vault_memory.memory.names import awkward, clash_key, clashes, conflict_copy, ignored, inside, unreadable

__all__ = [
    "KINDS",
    "Layout",
    "Pattern",
    "Place",
    "awkward",
    "bots",
    "clash_key",
    "clashes",
    "conflict_copy",
    "ignored",
    "inside",
    "unreadable",
]
