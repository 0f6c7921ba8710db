"""The memory tool of a model: files below /memories, mapped to the notes of one person."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
