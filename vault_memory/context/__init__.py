"""What a prompt gets: live notes, facts and matching lines, put together for one caller."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
