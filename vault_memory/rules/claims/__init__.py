"""Whether two sentences say the same, contradict or carry each other, with one set of word tables."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
