"""One module for each group of commands; each is imported when it is run."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
