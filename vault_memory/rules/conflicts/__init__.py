"""Contradictions among facts, items and rules: what contradicts what, and which line loses. Pure."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
