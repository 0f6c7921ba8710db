"""Writes notes safely beside people who edit them: journal, swap, recovery."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
