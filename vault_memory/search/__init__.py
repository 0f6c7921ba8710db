"""Finds the lines of the vault that answer a query."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
