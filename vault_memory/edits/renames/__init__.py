"""Lets the past of a note follow it to its new name."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
