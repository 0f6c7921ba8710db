"""The write policy within a learning cycle: judging, holding back, committing."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
