"""Stores what people wrote about notes, and answers questions on it."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
