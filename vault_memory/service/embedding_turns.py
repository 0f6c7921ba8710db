"""Computes the missing vectors of one vault."""

import logging
from collections.abc import Callable

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.models.embedding import shared_embedders

logger = logging.getLogger(__name__)


class EmbeddingTurns:
    """The turns of one vault. Any thread may take one, one at a time."""

    def __init__(
        self, memory: VaultMemory, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        """Each turn that embedded chunks is reported as a line."""
        self._memory = memory
        self._tell = tell

    def embedding_turn(self, go_on: Callable[[], bool] = lambda: True) -> float:
        """Embeds settled text while `go_on` is true; a later turn embeds the remaining text.

        Returns the seconds until the next turn, which tries a missing embedder again. Text that
        settles makes a turn due earlier. It does not raise: a failure is logged.
        """
        try:
            count = self._memory.searcher.embed(go_on=go_on)
            if count:
                logger.info("embedded %d chunks", count)
                self._tell(f"embedded {count:,} chunks")
        except VaultMemoryError as error:
            logger.warning("embedding: %s", error)
        except DatabaseError as error:
            logger.warning("embedding: %s", error)
            # A damaged index is built again from the notes.
            self._memory.vault.indexing.recover(error)
        except Exception:
            logger.exception("embedding failed")
        return shared_embedders.RETRY_SECONDS

    def rest(self) -> None:
        """Closes the databases between two turns; the next turn opens them again."""
        close_connections(self._memory)


# --- Idle vault ---

# Closes what an open vault needs only while it works, so that a process can have many open.


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
