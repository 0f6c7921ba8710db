"""Connects a host with a vault, or disconnects it: what `install` changes, and what it answers."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.hosts import host_options, install_plan, installer, programs, projects
from vault_memory.addons.hosts.own_notes import adoption
from vault_memory.errors import NoVault, UsageError
from vault_memory.mcp import tools as mcp_tools
from vault_memory.rules.paths.scopes import Caller
from vault_memory.vault import locate

if TYPE_CHECKING:
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest
    from vault_memory.addons.hosts.installer import FileChange
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.cli.options import Context
    from vault_memory.contract.setup_answers import InstallJson


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """Which person the bot serves, and what changes in the configuration of the host."""

    user: str | None
    channel: str | None
    private: bool
    allow: bool
    adopt: bool
    uninstall: bool
    dry_run: bool
    project: str | None


@dataclass(frozen=True, slots=True)
class Installation:
    """A host that was connected or disconnected, or would be in a dry run."""

    host: str
    request: "InstallRequest"
    changes: "Sequence[FileChange]"
    next_steps: Sequence[str]
    """what remains for the person after something was connected"""
    dry_run: bool

    def as_json(self) -> "InstallJson":
        """Return the answer of `install`."""
        return {
            "host": self.host,
            "user": self.request.user,
            "server": True,
            "then": list(self.next_steps),
            "files": [
                {
                    "path": change.file,
                    "changed": change.changed,
                    "backup": change.backup,
                    "diff": change.diff,
                }
                for change in self.changes
            ],
        }

    @property
    def caller(self) -> Caller:
        """The person and the room that the bot serves."""
        request = self.request
        return Caller(request.user, request.channel, request.groups, request.private)

    def lines(self) -> Iterator[str]:
        """Yield a line for each file, and then what the person has to do."""
        for change in self.changes:
            yield from _change_lines(change, dry_run=self.dry_run)
        if self.next_steps:
            channel = self.request.channel
            place = f" in {channel}" if channel else ""
            yield f"for: {self.request.user}{place}"
        for step in self.next_steps:
            yield f"next: {step}"


def carry_out(
    context: "Context", memory: "VaultMemory | None", host: str, options: InstallOptions
) -> Installation:
    """Change the configuration of the host. Raises UsageError, HostFileUnusable.

    Without a vault the plan is one to remove: it needs only our names.
    """
    request = _request(context, memory, host, options)
    program = programs.host(host)
    host_options.check(program, request, adopt=options.adopt)
    plan = program.plan(request, os.environ)
    now = context.now or datetime.now(UTC)
    state = _state_of(context, memory, plan)
    plan = _without_foreign(plan, state, request, host, options)
    returned = adoption.Return(state, host, request.project)
    notes: Sequence[FileChange] = ()
    if memory is None:
        plan = returned.added_to(plan)
    elif options.adopt:
        adopted = adoption.Adoption(memory, request, host, now, dry_run=options.dry_run)
        plan, notes = adopted.of_all(program.own_memory(request, os.environ), plan)
        _say_all(context, adopted.remarks)
    changes = installer.Installer(
        "uninstall" if options.uninstall else "install", state, now=now, dry_run=options.dry_run
    ).carry_out(plan)
    if memory is None:
        _say_all(context, returned.complete(options.dry_run))
    _register(state, request, host, options)
    is_connected = not (options.uninstall or options.dry_run)
    has_changed = any(change.changed for change in changes)
    next_steps = plan.next_steps if is_connected and has_changed else ()
    return Installation(host, request, [*notes, *changes], next_steps, options.dry_run)


def _state_of(context: "Context", memory: "VaultMemory | None", plan: "InstallPlan") -> Path:
    if memory:
        return memory.vault.state.path
    return installer.recorded_state(_named_root(context), plan, os.environ)


def _say_all(context: "Context", remarks: Iterable[str]) -> None:
    for remark in remarks:
        context.say(remark)


def _without_foreign(
    plan: "InstallPlan", state: Path, request: "InstallRequest", host: str, options: InstallOptions
) -> "InstallPlan":
    """Return the plan with all its edits, except those that another project still needs."""
    # Fault: the hooks of the last project would stay for ever, those of another go.
    folder = request.project if options.uninstall else None
    if folder is not None and _is_used_elsewhere(state, folder, host):
        return plan
    return replace(plan, edits=plan.edits + plan.shared)


def _is_used_elsewhere(state: Path, folder: Path, host: str) -> bool:
    """Whether another project needs what a project shares with it."""
    return any(
        host in project.hosts and project.folder != folder
        for project in projects.Projects(state).all()
    )


def _register(state: Path, request: "InstallRequest", host: str, options: InstallOptions) -> None:
    """Note that the hooks of this host are in a project when they run in its folder."""
    if request.project is None or options.dry_run:
        return
    register = projects.Projects(state)
    if options.uninstall:
        register.remove(request.project, host)
    else:
        register.add(request.project, request.channel, host)


def _request(
    context: "Context", memory: "VaultMemory | None", host: str, options: InstallOptions
) -> "InstallRequest":
    """Return how the host starts this program, and which person it serves."""
    user = options.user or (only_person(memory) if memory else "")
    request = install_plan.InstallRequest(
        _program(),
        _vault(memory) if memory else Path(),
        user,
        options.channel or "",
        Path(os.path.abspath(context.config)) if context.config else None,
        private=options.private,
        allow=options.allow and not options.uninstall,
        tools=_tools() if host == "openclaw" else (),
    )
    if options.project is None:
        return request
    return _in_project(memory, request, options, options.project)


def _in_project(
    memory: "VaultMemory | None", request: "InstallRequest", options: InstallOptions, named: str
) -> "InstallRequest":
    """Return the request for a project in the named folder. Raises UsageError."""
    # A host names the real path of its folder, behind links.
    folder = Path(os.path.realpath(named))
    # A folder that is gone can still be disconnected.
    if memory and not folder.is_dir():
        raise UsageError(
            f"`{named}` is not a folder", hint="name the folder of the project after `--project`"
        )
    name = options.channel or ""
    if memory and not name:
        name = projects.Projects(memory.vault.state.path).name_for(folder)
    # Nobody else reads what a bot answers beside the code, so the person's memory stays open.
    return replace(request, project=folder, channel=name, groups=(name,), private=True)


def _named_root(context: "Context") -> Path | None:
    """Return the folder of the vault, which may be away; None when none is named or around."""
    named = context.vault or os.environ.get("VAULT_MEMORY_VAULT")
    if named:
        return Path(named).expanduser()
    try:
        return locate.locate(None, {}, start=Path.cwd())
    except (NoVault, OSError):
        # Fault: the current folder itself may have been deleted with the vault.
        return None


def _tools() -> "tuple[Mapping[str, object], ...]":
    """Return the tools of the MCP server, for a plugin that offers them itself."""
    names = ("name", "title", "description", "inputSchema")
    return tuple({name: tool[name] for name in names} for tool in mcp_tools.list_tools()["tools"])


def _change_lines(change: "FileChange", *, dry_run: bool) -> Iterator[str]:
    if not change.changed:
        yield f"as it should be: {change.file}"
    elif dry_run:
        yield f"would change: {change.file}"
        yield change.diff.rstrip("\n")
    else:
        yield f"changed: {change.file}"
    if change.backup:
        yield f"backup: {change.backup}"


def _vault(memory: "VaultMemory") -> Path:
    vault = Path(os.path.abspath(memory.root))
    try:
        os.fspath(vault).encode("utf-8")
    except UnicodeEncodeError:
        # A configuration is UTF-8: with replaced bytes, the host would open another folder.
        raise UsageError(
            f"`{vault!r}` cannot be written into a configuration: its name is not UTF-8",
            hint="rename the folder",
        ) from None
    return vault


def _program() -> tuple[str, ...]:
    """Return the command that runs this program from any folder."""
    # A host has its own current folder and PATH, so each path here is absolute.
    started = Path(os.path.abspath(sys.argv[0]))
    if started.name == "vault-memory" and os.access(started, os.X_OK):
        return (str(started),)
    beside_python = Path(sys.executable).with_name("vault-memory")
    if os.access(beside_python, os.X_OK):
        return (str(beside_python),)
    return (sys.executable, "-m", "vault_memory")


def only_person(memory: "VaultMemory") -> str:
    """Return the one person that the vault knows. Raises UsageError when there are several."""
    prefix = "user:"
    people = [scope.removeprefix(prefix) for scope in memory.scopes() if scope.startswith(prefix)]
    if len(people) > 1:
        raise UsageError(
            f"the vault has several people: {', '.join(people)}",
            hint="name the person whom the bot serves with `--user NAME`",
        )
    return people[0] if people else memory.layout.user
