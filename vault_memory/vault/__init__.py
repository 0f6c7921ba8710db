"""The vault's folder: reading notes, listing them, and the files of its state."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
