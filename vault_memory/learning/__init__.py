"""The night's work: reads what was said and writes what is worth remembering."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
