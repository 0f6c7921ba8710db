"""What a host reports about itself and its vaults."""

import os
import resource
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from vault_memory.api.checks import failed, passed, warned
from vault_memory.edits.reports import Check
from vault_memory.errors import UsageError
from vault_memory.service.hosted_vault import HostedVault
from vault_memory.service.upkeep.waiting_clients import watcher_status
from vault_memory.service.vault_catalog import VaultCatalog

if TYPE_CHECKING:
    from vault_memory.contract.host_answers import HostedVaultJson, HostedVaultState, VaultHostJson
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.service.socket_server import Call
    from vault_memory.service.vault_host import VaultHost


def host_calls(host: "VaultHost") -> "dict[str, Call]":
    """Returns the calls that the socket of a running host answers."""
    return {"status": partial(_status, host), "watcher": partial(_watcher, host)}


def _watcher(host: "VaultHost", arguments: Mapping[str, Any]) -> "WatcherJson":
    """Returns how changes of one vault are noticed, by the id of the vault.

    Raises UsageError when the host does not serve it.
    """
    vault = host.find(str(arguments.get("vault")))
    if vault is None:
        raise UsageError("the host does not serve this vault")
    return watcher_status(vault.watch, trouble_of(vault))


def _status(host: "VaultHost", arguments: Mapping[str, Any]) -> "VaultHostJson":
    """Returns the state of the host and of each vault."""
    answer = catalog_status(host.catalog)
    answer["running"] = True
    answer["pid"] = os.getpid()
    answer["address"] = host.address
    for row in answer["vaults"]:
        vault = host.find(row["vault"])
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
                "tokens": len(entry.tokens or ()),
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
    open_vault = vault.open_vault
    if open_vault is None:
        return "failed" if vault.failure.reason else "closed"
    if vault.users:
        return "in_use"
    return "open"


def trouble_of(vault: HostedVault) -> str:
    """Returns why a vault cannot be opened or read now; empty when it can."""
    open_vault = vault.open_vault
    if open_vault is not None and open_vault.is_tended:
        return open_vault.upkeep.trouble
    return vault.failure.reason


# --- Host doctor ---

# What `host --doctor` checks: the host, its limits, and each vault with trouble.

FEW_FILES = 4096
"""Open files below which only a few hundred vaults can be open"""


def checks(status: "VaultHostJson") -> Iterator[Check]:
    """Returns the checks of a host with this status."""
    yield _host(status)
    yield _files()
    polled = [row["root"] for row in status["vaults"] if row["polled"]]
    if polled:
        yield warned(
            "watches",
            f"no event reports changes of {len(polled)} vaults, such as `{polled[0]}`",
            "raise `fs.inotify.max_user_watches`, or move the vaults to a local disk",
        )
    closed = [row["root"] for row in status["vaults"] if not row["tokens"] and not row["trouble"]]
    if closed:
        yield warned(
            "tokens",
            f"{len(closed)} vaults have no token, so no bot can ask for them, such as `{closed[0]}`",
            f"run `vault-memory --vault {closed[0]} serve --new-token FILE --user NAME`,"
            " and add the lines that it prints to the configuration of that vault",
        )
    troubled = 0
    for row in status["vaults"]:
        if row["trouble"]:
            troubled += 1
            yield failed(
                "vault",
                f"`{row['root']}`: {row['trouble']}",
                f"run `vault-memory doctor --vault {row['root']}`",
            )
    if not status["vaults"]:
        folder = status["folder"]
        yield warned(
            "vaults",
            f"there is no vault below `{folder}`",
            "make one with `vault-memory init FOLDER`, or name another folder with `--vaults`",
        )
        return
    count = len(status["vaults"]) - troubled
    yield passed("vaults", f"{count} vaults without trouble")


def _host(status: "VaultHostJson") -> Check:
    if status["running"]:
        return passed("host", f"process {status['pid']} serves the vaults")
    return warned("host", "no host runs", f"run `vault-memory host --vaults {status['folder']}`")


def _files() -> Check:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FEW_FILES:
        return warned(
            "open files",
            f"the system allows {hard} open files, which limits the open vaults",
            "raise `LimitNOFILE=` of the service, or `ulimit -Hn`",
        )
    return passed("open files", f"the system allows {hard} open files")
