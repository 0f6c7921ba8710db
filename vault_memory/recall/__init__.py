"""Search: finding the right lines of the vault, in any language, without asking a model."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.index.matrices import Matrices
    from vault_memory.recall.answer import MODES, Answer, Hit, Why
    from vault_memory.recall.hits import excerpt
    from vault_memory.recall.searching import search

__all__ = ["MODES", "Answer", "Hit", "Matrices", "Why", "excerpt", "search"]

# A block for a prompt in which nothing is looked up needs next to none of it.
_HOME = {
    **dict.fromkeys(("MODES", "Answer", "Hit", "Why"), "recall.answer"),
    "Matrices": "index.matrices",
    "excerpt": "recall.hits",
    "search": "recall.searching",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"vault_memory.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
