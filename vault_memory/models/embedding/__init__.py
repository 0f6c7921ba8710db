"""Embedders: turn texts into vectors."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
