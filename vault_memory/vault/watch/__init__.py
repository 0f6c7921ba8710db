"""Watches the vault: change events, debounce, the queue of paths to look at."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
