"""The process of a host of a fleet: it holds vaults, answers requests, and passes others on."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
