"""Serves vaults from several hosts: a vault is visited by one host at a time."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
