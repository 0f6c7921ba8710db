"""The page: see, correct and take back in a browser what the bot remembers."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
