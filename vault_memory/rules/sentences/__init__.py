"""Cuts a text into sentences, and says how a sentence ends."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
