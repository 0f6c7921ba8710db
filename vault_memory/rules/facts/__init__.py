"""Rules of facts: their lines, entities, and what follows from them."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
