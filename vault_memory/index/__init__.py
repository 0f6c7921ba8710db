"""The search index: everything in it follows from the files of the vault, and it can be deleted."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
