"""The ledger of many vaults: which vaults exist, when each is due, and which host holds it."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
