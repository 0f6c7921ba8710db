"""Takes texts out of everything that is kept, and checks that nothing is left."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
