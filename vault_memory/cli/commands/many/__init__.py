"""Commands that serve many vaults; each is imported when it is run."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
