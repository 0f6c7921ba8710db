"""Rules of the write policy: secrets, withdrawals and held candidates. Pure."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
