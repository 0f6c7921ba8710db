"""Edits on notes that people edit too: the editor, the audit log, the inbox, conflict copies, and their calls."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
