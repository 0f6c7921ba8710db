"""Rules of edits: ops, policy, ownership, audit records, undo."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
