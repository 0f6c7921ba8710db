"""Hosts: the programs in which people talk to a bot, their configuration, and their hooks."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
