"""The search index: everything in it follows from the files of the vault, and it can be deleted."""

from vault_memory.index.chunks import SEPARATOR, Delta
from vault_memory.index.generations import RULES, Generations
from vault_memory.index.schema import ANALYSIS
from vault_memory.index.store import Entry, Held, Index, State

__all__ = ["ANALYSIS", "RULES", "SEPARATOR", "Delta", "Entry", "Generations", "Held", "Index", "State"]
