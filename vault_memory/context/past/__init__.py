"""What a prompt got on an earlier day: the notes of that day, rebuilt and searched."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
