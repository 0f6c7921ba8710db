"""Models: embedders turn texts into vectors, language models learn from conversations."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
