"""Rules of learning: what a model is asked, and how its answer is read."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
