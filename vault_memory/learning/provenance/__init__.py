"""Where something remembered comes from: its turns, its item and its audit record."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
