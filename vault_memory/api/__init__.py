"""The public class VaultMemory and the JSON contract of its answers."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
