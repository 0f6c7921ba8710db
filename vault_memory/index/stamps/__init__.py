"""The stamps of items: what their fading follows from."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
