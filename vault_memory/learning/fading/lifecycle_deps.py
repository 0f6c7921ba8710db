"""Connects the steps for fading with the reads, the ledgers and the settings of a vault."""

from typing import TYPE_CHECKING, NamedTuple

from vault_memory.learning.ledgers import Ledgers
from vault_memory.learning.ledgers import of_vault as ledgers_of
from vault_memory.search.item_reads import ItemReads

if TYPE_CHECKING:
    from vault_memory.config.sections import LifecycleSettings
    from vault_memory.search.open_vault import OpenVault


class LifecycleDeps(NamedTuple):
    """What the steps for fading need."""

    reads: ItemReads
    ledgers: Ledgers
    settings: "LifecycleSettings"

    @classmethod
    def of_vault(cls, vault: "OpenVault") -> "LifecycleDeps":
        """Returns what the steps need of an open vault."""
        return cls(ItemReads(vault.state.path), ledgers_of(vault), vault.config.lifecycle)
