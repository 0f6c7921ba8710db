"""Takes in what other systems know, and writes out everything that is known."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
