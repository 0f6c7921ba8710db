"""Text for a person on a terminal: its width, short times, tables, and marks on matched words."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
