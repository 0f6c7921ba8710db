"""Rules of conversations: turns, and what they state."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
