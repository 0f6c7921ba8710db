"""The notes that a host writes by itself, as notes of the vault."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
