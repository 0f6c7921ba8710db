"""Rules of paths: what a path means, which names are safe, which scope a note belongs to."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
