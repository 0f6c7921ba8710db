"""The state of the hosts, for `install --check` and `doctor`."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vault_memory import places
from vault_memory.addons.hosts import programs
from vault_memory.addons.hosts.config_edits import Edit
from vault_memory.addons.hosts.host import Host, Trust
from vault_memory.addons.hosts.install_plan import PROJECTS_ONLY, InstallRequest
from vault_memory.addons.hosts.own_notes import adoption
from vault_memory.addons.hosts.projects import Projects
from vault_memory.contract.setup_answers import HostStatusJson
from vault_memory.edits.reports import Check
from vault_memory.errors import ConfigError

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

WIRED = {"yes": "wired", "partly": "partly wired", "no": "not wired"}
TRUSTED = {"yes": "trusted", "no": "not trusted", "unknown": "trust unknown"}
"""In words; what needs no trust has none"""
Wiring = Literal["yes", "partly", "no"]


# --- Host status ---

# The state of each host, for `install --check` and `doctor`: wired, trusted, last started.


@dataclass(frozen=True, slots=True)
class WiredFile:
    path: Path
    is_wired: bool
    """Whether our entries are in the file"""


@dataclass(frozen=True, slots=True)
class HostStatus:
    """The state of one host, for the person or in one project."""

    host: str
    project: str
    """The folder of the project; empty for what the person does everywhere"""
    wired: Wiring
    """`partly`: one of the files misses our entries; `no`: all, or they name another vault"""
    trusted: Trust
    last_started: datetime | None
    """When the host last ran a hook or the server"""
    files: tuple[WiredFile, ...]
    next_step: str
    """What the person does after `install`, so that the host trusts it"""
    has_adopted: bool = False
    """Whether the notes that it writes by itself are in the vault"""


def host_statuses(
    request: InstallRequest, state: Path, environment: Mapping[str, str]
) -> Iterator[HostStatus]:
    """Yield the state of each host, and then of each host in each project."""
    for host in programs.hosts():
        yield _status_of(host, request, state, environment)
    for project in Projects(state).all():
        # The hooks are those of the person; only the server is beside the code.
        in_project = replace(request, project=project.folder, channel=project.name)
        for name in project.hosts:
            yield _status_of(programs.host(name), in_project, state, environment)


def _status_of(
    host: Host, request: InstallRequest, state: Path, environment: Mapping[str, str]
) -> HostStatus:
    plan = host.plan(request, environment)
    read = {file: _own_lines(file, edit, request) for file, edit in plan.edits}
    ours = {file: lines for file, lines in read.items() if lines is not None}
    files = tuple(WiredFile(file, bool(lines)) for file, lines in ours.items())
    wired: Wiring = "partly"
    if all(ours.values()):
        wired = "yes"
    # Fault: entries of the same name may belong to another vault.
    vault = str(request.vault)
    if not any(vault in lines for lines in ours.values()):
        wired = "no"
    status = HostStatus(
        host=host.name,
        project=str(request.project or ""),
        wired=wired,
        trusted=host.trust(request, environment) if wired != "no" else "unknown",
        last_started=_last_start(state, host.name),
        files=files,
        next_step=plan.next_steps[0],
        has_adopted=adoption.Return(state, host.name, request.project).is_due,
    )
    package = None if request.project else host.package_file(environment)
    if package is None:
        return status
    trusted = host.trust(request, environment)
    return replace(status, wired="yes", trusted=trusted, files=(WiredFile(package, True),))


def _own_lines(file: Path, edit: Edit, request: InstallRequest) -> str | None:
    """Return the lines of a file that `--uninstall` would take out; empty without ours.

    None for a file in which `install` would put nothing.
    """
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        remaining = edit.remove(text, None)
        if edit.put(remaining)[0] in (remaining, "{}\n"):
            return None
    except (OSError, ValueError, ConfigError):
        # `install` names the reason; here the entries count as missing.
        return ""
    kept = set(remaining.splitlines())
    lines = "\n".join(line for line in text.splitlines() if line not in kept)
    # Hooks that projects share are silent everywhere else.
    is_shared = request.project is None and PROJECTS_ONLY in lines
    return "" if is_shared else lines


def _last_start(state: Path, host: str) -> datetime | None:
    try:
        seconds = (state / places.STARTS / host).stat().st_mtime
    except OSError:
        # The host has not started this program since the vault has a state folder.
        return None
    return datetime.fromtimestamp(seconds, UTC).astimezone()


# --- Host checks ---


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
    words += ["its notes are in the vault"] if status.has_adopted else []
    if status.wired != "no":
        words += [TRUSTED[status.trusted]] if status.trusted in TRUSTED else []
        started = status.last_started
        words.append(f"last ran {started:%Y-%m-%d %H:%M}" if started else "never ran")
    return ", ".join(words)
