"""The memory of the pages that SQLite has read from an index."""

from vault_memory.index.store import Index


def give_back_pages(index: Index) -> None:
    """Give back the memory of cached pages. The next query reads what it needs again."""
    index.connection.pragma("shrink_memory")
