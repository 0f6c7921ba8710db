"""Keeps the vault in step with a folder on a server."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
