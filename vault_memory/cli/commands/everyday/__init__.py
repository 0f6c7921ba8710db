"""Commands of every day: what is known of a person, the last night, proposals, notes, settings."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
