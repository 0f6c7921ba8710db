"""The state of the hosts, for `install --check` and `doctor`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.hosts.host_status import HostStatus, host_statuses
from vault_memory.addons.hosts.install_plan import InstallRequest
from vault_memory.contract.setup_answers import HostStatusJson
from vault_memory.edits.reports import Check

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

WIRED = {"yes": "wired", "partly": "partly wired", "no": "not wired"}
TRUSTED = {"yes": "trusted", "no": "not trusted", "unknown": "trust unknown"}
"""In words; what needs no trust has none"""


def statuses(memory: "VaultMemory") -> Iterator[HostStatus]:
    """Yield the state of each host on this machine."""
    vault = Path(os.path.abspath(memory.root))
    request = InstallRequest(("vault-memory",), vault, memory.layout.user)
    return host_statuses(request, memory.vault.state.path, os.environ)


def as_json(status: HostStatus) -> HostStatusJson:
    started = status.last_started
    return {
        "host": status.host,
        "project": status.project,
        "wired": status.wired,
        "trusted": status.trusted,
        "last_fired": started.isoformat(timespec="seconds") if started else None,
        "files": [{"path": str(file.path), "wired": file.is_wired} for file in status.files],
    }


def line_of(status: HostStatus) -> str:
    """Return the state of a host in one line."""
    place = f" in {status.project}" if status.project else ""
    return f"{status.host}{place}: {_words_of(status)}"


def checks(memory: "VaultMemory") -> Iterator[Check]:
    """Yield a check for each host that is connected."""
    for status in statuses(memory):
        # Most people use few of the hosts: the others are no finding.
        if status.wired == "no":
            continue
        option = f" --project {status.project}" if status.project else ""
        fix = ""
        if status.wired == "partly":
            fix = f"vault-memory install {status.host}{option}"
        elif status.trusted == "no":
            fix = status.next_step
        yield Check("host", "warn" if fix else "ok", line_of(status), fix)


def _words_of(status: HostStatus) -> str:
    words = [WIRED[status.wired]]
    if status.wired != "no":
        words += [TRUSTED[status.trusted]] if status.trusted in TRUSTED else []
        started = status.last_started
        words.append(f"last ran {started:%Y-%m-%d %H:%M}" if started else "never ran")
    return ", ".join(words)
