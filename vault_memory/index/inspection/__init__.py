"""What a person or a program looks up about an index, apart from search."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
