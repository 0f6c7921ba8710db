"""Lists both sides, and notices what a listing does not say."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
