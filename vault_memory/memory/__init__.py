"""The rules of a bot's memory, pure: no files, no clocks. What a path means, which names are memory, what an op does."""

from typing import TYPE_CHECKING

from vault_memory.memory.layout import KINDS, Layout, Pattern, Place, bots
from vault_memory.memory.names import awkward, clash_key, clashes, conflict_copy, ignored, inside, unreadable

if TYPE_CHECKING:
    from vault_memory.memory.editing import apply_ops
    from vault_memory.memory.ops import (
        AddHeading,
        Append,
        Applied,
        Op,
        Outcome,
        Rejected,
        Remove,
        Replace,
        as_json,
        read_op,
    )

__all__ = [
    "KINDS",
    "AddHeading",
    "Append",
    "Applied",
    "Layout",
    "Op",
    "Outcome",
    "Pattern",
    "Place",
    "Rejected",
    "Remove",
    "Replace",
    "apply_ops",
    "as_json",
    "awkward",
    "bots",
    "clash_key",
    "clashes",
    "conflict_copy",
    "ignored",
    "inside",
    "read_op",
    "unreadable",
]


def __getattr__(name: str) -> object:
    """The ops are loaded when they are asked for: a search does without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vault_memory.memory import editing, ops

    return getattr(editing if name == "apply_ops" else ops, name)
