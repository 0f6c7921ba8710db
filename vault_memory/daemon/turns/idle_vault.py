"""Closes what an open vault needs only while it works, so that a process can have many open."""

from vault_memory.api.vault_memory import VaultMemory


def close_connections(memory: VaultMemory) -> None:
    """Close the databases of a vault and drop what was cached from them.

    The vault stays open: the next call opens what it needs, which takes about a millisecond. No
    other thread may use `memory` meanwhile.
    """
    # A look at an attribute would make the calls of a concept that was not used.
    used = vars(memory)
    if "sync" in used:
        memory.sync.close()
    if "conflicts" in used:
        memory.conflicts.close()
    memory.edits.close()
    memory.searcher.forget_cached()
    memory.vault.close_databases()
