"""Search: finding the right lines of the vault, in any language, without asking a model."""

from vault_memory.index.matrices import Matrices
from vault_memory.recall.answer import MODES, Answer, Hit, Why
from vault_memory.recall.hits import excerpt
from vault_memory.recall.search import search

__all__ = ["MODES", "Answer", "Hit", "Matrices", "Why", "excerpt", "search"]
