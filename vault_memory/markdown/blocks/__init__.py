"""Finds the blocks of a note: headings, lists, fences, paragraphs."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
