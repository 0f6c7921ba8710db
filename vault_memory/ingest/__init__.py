"""From the vault into the index: a pure plan, and one transaction a note."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
