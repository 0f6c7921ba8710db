"""Sets vaults up, and writes the service files that keep a daemon running."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
