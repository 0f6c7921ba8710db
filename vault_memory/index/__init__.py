"""The search index: everything in it follows from the files of the vault, and it can be deleted."""

from vault_memory.index.chunks import SEPARATOR, Delta
from vault_memory.index.store import Entry, Held, Index, State

__all__ = ["SEPARATOR", "Delta", "Entry", "Held", "Index", "State"]
