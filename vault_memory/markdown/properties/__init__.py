"""Reads what people wrote about a note: front matter, tags, aliases and links."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
