"""HTTP: the calls of VaultMemory for bots, each let in by a token. Needs the extra `web`."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
