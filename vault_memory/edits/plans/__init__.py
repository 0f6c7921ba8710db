"""Plans of edits: what a command makes of a note, before anything is written."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
