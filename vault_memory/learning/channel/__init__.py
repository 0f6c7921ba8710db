"""What is learned in channels: for the channel, and for each person who speaks in it."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
