"""The nightly work for items that fade: folding reads, purging."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
