"""Language models: decide what in a conversation is worth remembering."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
