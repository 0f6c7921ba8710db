"""Rules of forgetting: finds a text in all its spellings, and removes it from files."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
