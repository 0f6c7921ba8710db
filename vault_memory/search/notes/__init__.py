"""Notes by their names, and the links between them."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
