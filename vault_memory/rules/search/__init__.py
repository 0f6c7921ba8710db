"""Rules of search: tokens, query features, scores."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
