"""Add-ons: rooms that the core does not need. Nothing outside an add-on imports it."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
