"""The process that keeps vaults: one beside a chat bot with `run`, many with `host`."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
