"""Three-way merge of notes: two versions of one note become one, and no word of either is lost."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
