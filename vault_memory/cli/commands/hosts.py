"""`hook` and `install`: connect the vault to a program that a bot lives in."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, grouped, private
from vault_memory.errors import UsageError
from vault_memory.hosts import programs
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.setup_answers import InstallJson
    from vault_memory.hosts import hook_command, install_plan, installer
    from vault_memory.hosts.install_plan import InstallRequest
    from vault_memory.hosts.installer import FileChange
else:
    hook_command = lazy_module("vault_memory.hosts.hook_command")
    install_plan = lazy_module("vault_memory.hosts.install_plan")
    installer = lazy_module("vault_memory.hosts.installer")

HOOK_HELP = """\
Answer one event of HOST ({hosts}), read as JSON from standard input.

\b
SessionStart      prints the memory block
UserPromptSubmit  records the prompt, and with `auto_recall` prints lines that answer it
Stop              records the answer of the bot
PreCompact        records answers that the transcript of the host has and the vault lacks
SessionEnd        does the same, and ends the session

Some hosts have other names for these events. The exit code is always 0, so that an error does not
stop the bot. `hook.log` in the state folder has the errors. `install` writes this command into the
configuration of HOST.
"""
INSTALL_HELP = """\
Connect the vault to HOST: {hosts}.

The command adds to the configuration of HOST, and writes a backup beside it. A second run changes
nothing; a run without --allow withdraws that permission.

\b
Example:
  vault-memory --vault ~/vault install claude-code --user mira --dry-run
"""


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """Which person the bot serves, and what changes in the configuration of the host."""

    user: str | None
    channel: str | None
    private: bool
    allow: bool
    uninstall: bool
    dry_run: bool


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


class NothingToAllow(UsageError):
    """The host has no setting for which tools may be used."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"`{host}` has no setting that allows tools:"
            " it asks a person, or it asks nobody",
            hint="leave out `--allow`",
        )


def _hosts_with_hooks() -> str:
    return ", ".join(host.name for host in programs.hosts() if host.events)


def _hosts_that_allow() -> str:
    return ", ".join(host.name for host in programs.hosts() if host.can_allow)


def _all_hosts() -> str:
    *first, last = programs.names()
    return f"{', '.join(first)} or {last}"


@click.command(help=HOOK_HELP.format(hosts=_hosts_with_hooks()))
@click.argument("host")
@click.option("--user", metavar="NAME", help="The person whom the bot serves.")
@click.option("--channel", metavar="NAME", help="The channel where the bot answers.")
@click.option(
    "--group",
    metavar="NAME",
    multiple=True,
    help="Also open the notes of this group (repeatable).",
)
@private
@common
@click.pass_obj
def hook(
    context: Context,
    host: str,
    user: str | None,
    channel: str | None,
    group: tuple[str, ...],
    private: bool,
) -> None:
    options = {
        "--vault": context.vault,
        "--config": context.config,
        "--user": user,
        "--channel": channel,
        "--now": context.now.isoformat() if context.now else None,
    }
    words = [host]
    for name, value in options.items():
        if value:
            words += [name, value]
    for name in group:
        words += ["--group", name]
    if private:
        words.append("--private")
    sys.exit(hook_command.run(words))


@click.command(help=INSTALL_HELP.format(hosts=_all_hosts()))
@click.argument("host", metavar="HOST")
@click.option(
    "--user",
    metavar="NAME",
    help="The person whom the bot serves; required if the vault has several people.",
)
@click.option("--channel", metavar="NAME", help="The channel where the bot answers.")
@private
@click.option(
    "--allow",
    is_flag=True,
    help=f"Let HOST use the tools without asking ({_hosts_that_allow()}).",
)
@click.option(
    "--uninstall", is_flag=True, help="Remove exactly what `install` has added."
)
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@common
@click.pass_obj
@grouped(InstallOptions, "options")
def install(
    context: Context,
    host: str,
    options: InstallOptions,
) -> None:
    with context.open() as memory:
        if not options.uninstall:
            with context.progress() as progress:
                # A hook has no time to read a complete vault.
                memory.refresh(progress)
        installation = _carry_out(context, memory, host, options)
    context.emit(installation.as_json(), lambda: "\n".join(installation.lines()))


def _carry_out(
    context: Context,
    memory: "VaultMemory",
    host: str,
    options: InstallOptions,
) -> Installation:
    """Change the configuration of the host. Raises UsageError, HostFileUnusable."""
    request = _request(context, memory, options)
    program = programs.host(host)
    if request.allow and not program.can_allow:
        raise NothingToAllow(host)
    plan = program.plan(request, os.environ)
    changes = installer.Installer(
        "uninstall" if options.uninstall else "install",
        memory.vault.state.path,
        now=context.now or datetime.now(UTC),
        dry_run=options.dry_run,
    ).carry_out(plan)
    is_connected = not (options.uninstall or options.dry_run)
    has_changed = any(change.changed for change in changes)
    next_steps = plan.next_steps if is_connected and has_changed else ()
    return Installation(host, request, changes, next_steps, options.dry_run)


def _request(
    context: Context,
    memory: "VaultMemory",
    options: InstallOptions,
) -> "InstallRequest":
    """Return how the host starts this program, and which person it serves."""
    user = options.user
    if not user:
        user = memory.layout.user if options.uninstall else _only_person(memory)
    return install_plan.InstallRequest(
        _program(),
        _vault(memory),
        user,
        options.channel or "",
        Path(os.path.abspath(context.config)) if context.config else None,
        private=options.private,
        allow=options.allow and not options.uninstall,
    )


def _change_lines(
    change: "FileChange",
    *,
    dry_run: bool,
) -> Iterator[str]:
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


def _only_person(memory: "VaultMemory") -> str:
    """Return the one person that the vault knows. Raises UsageError when there are several."""
    prefix = "user:"
    people = [
        scope.removeprefix(prefix)
        for scope in memory.scopes()
        if scope.startswith(prefix)
    ]
    if len(people) > 1:
        raise UsageError(
            f"the vault has several people: {', '.join(people)}",
            hint="name the person whom the bot serves with `--user NAME`",
        )
    return people[0] if people else memory.layout.user


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
