"""A folder on a server: its listing, and conditional writes, so that no edit overwrites an unread version."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
