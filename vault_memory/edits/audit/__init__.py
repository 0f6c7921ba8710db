"""What only some commands need of the audit: all files of a vault, old records, the records of some scopes."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
