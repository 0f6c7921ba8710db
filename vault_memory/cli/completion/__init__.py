"""Completion at the Tab key: what a shell may offer, and the scripts that ask for it."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
