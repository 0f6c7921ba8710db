"""Three-way merge of notes: two versions of one note become one, and no word of either is lost."""

from vault_memory.markdown.merging.three_way import Conflict, Merged, merge

__all__ = ["Conflict", "Merged", "merge"]
