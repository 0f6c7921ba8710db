"""Cuts a note into the chunks that search finds."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
