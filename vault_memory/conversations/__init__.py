"""What people and the bot say: transcripts, sessions, the drop folder, and the calls that record."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
