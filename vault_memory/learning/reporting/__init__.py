"""What a cycle did, and the report of a night."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
