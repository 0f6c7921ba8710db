"""Sums conversations up: one episode for each that is worth it."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
