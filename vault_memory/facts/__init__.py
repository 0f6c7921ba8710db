"""Facts about people and things: the calls that read and change them."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
