"""What a host reports about itself and its vaults."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.daemon.upkeep.upkeep_watch import watcher_status
from vault_memory.errors import UsageError
from vault_memory.hosting.hosted_vault import HostedVault
from vault_memory.hosting.vault_catalog import VaultCatalog

if TYPE_CHECKING:
    from vault_memory.contract.host_answers import HostedVaultJson, HostedVaultState, VaultHostJson
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.daemon.socket_server import Call
    from vault_memory.hosting.residents import Residents


class HostReport:
    """Reports the state of a running host."""

    def __init__(self, catalog: VaultCatalog, residents: "Residents") -> None:
        self._catalog = catalog
        self._residents = residents
        self.address = ""
        """Where the host listens; empty when it does not"""

    def calls(self) -> "dict[str, Call]":
        """Returns the calls that the socket of the host answers."""
        return {"status": self._status, "watcher": self._watcher}

    def _status(self, arguments: Mapping[str, Any]) -> "VaultHostJson":
        return self.status()

    def _watcher(self, arguments: Mapping[str, Any]) -> "WatcherJson":
        """Returns how changes of one vault are noticed, by the id of the vault.

        Raises UsageError when the host does not serve it.
        """
        vault = self._residents.find(str(arguments.get("vault")))
        if vault is None:
            raise UsageError("the host does not serve this vault")
        return watcher_status(vault.watch, trouble_of(vault))

    def status(self) -> "VaultHostJson":
        """Returns the state of the host and of each vault."""
        answer = catalog_status(self._catalog)
        answer["running"] = True
        answer["pid"] = os.getpid()
        answer["address"] = self.address
        for row in answer["vaults"]:
            vault = self._residents.find(row["vault"])
            if vault is not None and vault.entry.root == row["root"]:
                row["state"] = state_of(vault)
                row["polled"] = vault.watch.mode == "polling"
                row["trouble"] = row["trouble"] or trouble_of(vault)
        return answer


def catalog_status(catalog: VaultCatalog) -> "VaultHostJson":
    """Returns what is known of the vaults without a running host."""
    troubles = {entry.root: entry.trouble for entry in catalog.troubled()}
    token_troubles = catalog.token_troubles()
    vaults: list[HostedVaultJson] = []
    for entry in catalog.entries():
        trouble = troubles.get(entry.root, "")
        vaults.append(
            {
                "root": entry.root,
                "vault": entry.vault,
                "state": "refused" if trouble else "closed",
                "tokens": len(entry.tokens.callers) if entry.tokens else 0,
                "polled": False,
                "trouble": trouble or token_troubles.get(entry.vault, ""),
            }
        )
    return {
        "folder": str(catalog.folder),
        "running": False,
        "pid": None,
        "address": "",
        "vaults": vaults,
    }


def state_of(vault: HostedVault) -> "HostedVaultState":
    """Returns whether a vault is open, and why not."""
    resident = vault.resident
    if resident is None:
        return "failed" if vault.failure.reason else "closed"
    if vault.users:
        return "in_use"
    return "open"


def trouble_of(vault: HostedVault) -> str:
    """Returns why a vault cannot be opened or read now; empty when it can."""
    resident = vault.resident
    if resident is not None and resident.upkeep is not None:
        return resident.trouble
    return vault.failure.reason
