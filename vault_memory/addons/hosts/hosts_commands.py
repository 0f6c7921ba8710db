"""`hook`, `install` and `uninstall`: connect the vault to a program that a bot lives in, for a person."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.addons.hosts import hook_command, host_checks, programs, uninstaller
from vault_memory.addons.hosts.connection import Installation, InstallOptions, carry_out
from vault_memory.admin import owner
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.cli.options import (
    Context,
    common,
    displayed_path,
    grouped,
    new_name,
    private,
    scope_option,
)
from vault_memory.errors import UsageError
from vault_memory.search import scope_names
from vault_memory.vault.state_dir import StateFolderUnusable

if TYPE_CHECKING:
    from vault_memory.addons.hosts.installer import FileChange
    from vault_memory.addons.hosts.uninstaller import Row
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.setup_answers import InstallCheckJson


HOOK_HELP = """\
Answer one event of HOST ({hosts}), read as JSON from standard input.

\b
SessionStart      prints the memory block
UserPromptSubmit  records the prompt, and prints lines that answer it (`auto_recall`)
Stop              records the answer of the bot, and learns what the person plainly asked for
PreCompact        records answers that the transcript of the host has and the vault lacks,
                  and sums the conversation up
SessionEnd        records such answers, too, and ends the session

Some hosts have other names for these events. The exit code is always 0, so that an error does not
stop the bot. `hook.log` in the state folder has the errors. `install` writes this command into the
configuration of HOST.
"""
INSTALL_HELP = """\
Connect the vault to HOST: {hosts}.

The command adds to the configuration of HOST, and writes a backup beside it. A second run changes
nothing; a run without --allow withdraws that permission. With --project the server goes beside
the code, and what is said there is the memory of the project, too: a channel and a group with the
name of the folder, or the name after --channel.

\b
Examples:
  vault-memory --vault ~/vault install claude-code --user mira --dry-run
  vault-memory --vault ~/vault install claude-code --user mira --project ~/code/heron
  vault-memory install --check
"""


@dataclass(frozen=True, slots=True)
class HookOptions:
    """The person and the places for which a hook answers."""

    user: str | None
    channel: str | None
    group: tuple[str, ...]
    projects: bool
    private: bool


def _hosts_with_hooks() -> str:
    return ", ".join(host.name for host in programs.hosts() if host.events)


def _hosts_that_allow() -> str:
    return ", ".join(host.name for host in programs.hosts() if host.can_allow)


def _hosts_that_adopt() -> str:
    return ", ".join(host.name for host in programs.hosts() if host.can_adopt)


def _hosts_with_projects() -> str:
    return ", ".join(host.name for host in programs.hosts() if host.takes_project)


def _all_hosts() -> str:
    *first, last = programs.names()
    return f"{', '.join(first)} or {last}"


@click.command(help=HOOK_HELP.format(hosts=_hosts_with_hooks()))
@click.argument("host")
@scope_option("--user", help="The person whom the bot serves.")
@scope_option("--channel", help="The channel where the bot answers.")
@scope_option("--group", multiple=True, help="Also open the notes of this group (repeatable).")
@click.option(
    "--projects", is_flag=True, help="Be silent outside the folders that `install --project` named."
)
@private
@common
@click.pass_obj
@grouped(HookOptions, "options")
def hook(context: Context, host: str, options: HookOptions) -> None:
    values = {
        "--vault": context.vault,
        "--config": context.config,
        "--user": options.user,
        "--channel": options.channel,
        "--now": context.now.isoformat() if context.now else None,
    }
    words = [host]
    for name, value in values.items():
        if value:
            words += [name, value]
    for name in options.group:
        words += ["--group", name]
    if options.projects:
        words.append("--projects")
    if options.private:
        words.append("--private")
    sys.exit(hook_command.run(words))


@click.command(help=INSTALL_HELP.format(hosts=_all_hosts()))
@click.argument("host", metavar="HOST", required=False)
@scope_option(
    "--user", help="The person whom the bot serves; required if the vault has several people."
)
@scope_option("--channel", help="The channel where the bot answers.")
@private
@click.option(
    "--allow", is_flag=True, help=f"Let HOST use the tools without asking ({_hosts_that_allow()})."
)
@click.option(
    "--adopt",
    is_flag=True,
    help=f"Make the notes that HOST writes by itself notes of the vault ({_hosts_that_adopt()}).",
)
@click.option("--uninstall", is_flag=True, help="Remove exactly what `install` has added.")
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option(
    "--project",
    metavar="[FOLDER]",
    is_flag=False,
    flag_value=".",
    help="Connect HOST in a folder of code, by default this one, with a memory of its own"
    f" ({_hosts_with_projects()}).",
)
@new_name
@click.option(
    "--check",
    is_flag=True,
    help="Tell of each host whether it is wired and trusted, and when it last ran.",
)
@common
@click.pass_obj
@grouped(InstallOptions, "options")
def install(context: Context, host: str | None, check: bool, options: InstallOptions) -> None:
    if check:
        _check(context, host)
        return
    if host is None:
        raise UsageError(
            "`install` needs the name of a host",
            hint=f"the hosts are {', '.join(programs.names())};"
            " `--check` tells which are connected",
        )
    name_owner(context, options)
    if options.uninstall:
        # Fault: what is in the hosts would stay there for ever once the vault is gone or damaged.
        installation = carry_out(context, None, host, options)
    else:
        installation = _connect(context, host, options)
    context.emit(installation.as_json(), lambda: "\n".join(installation.lines()))


def _connect(context: Context, host: str, options: InstallOptions) -> Installation:
    """Put everything in, and warn of what others will read."""
    with context.open(makes_names=True) as memory:
        if context.new and not options.dry_run:
            # Fault: the server would refuse the new name until its first turn is recorded.
            scope_names.make_folders(memory.root, context.named)
        with context.progress() as progress:
            # A hook has no time to read a complete vault.
            memory.refresh(progress)
        installation = carry_out(context, memory, host, options)
        warning = installation.caller.warning(memory.scopes(), memory.layout)
    if warning:
        context.say(warning)
    return installation


@click.command()
@click.option(
    "--purge",
    is_flag=True,
    help="Also remove what is nowhere else: earlier versions of notes, the trash, lines and texts"
    " that are in no note.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed; remove nothing.")
@common
@click.pass_obj
def uninstall(context: Context, purge: bool, yes: bool, dry_run: bool) -> int:
    """Take everything of ours away from this machine, but no note.

    The command lists services, entries in other programs, state folders and fetched models, and
    asks. Writes that a crash interrupted are finished first, and turns that wait are recorded. While
    a vault with such is away, or a program of ours runs, nothing is removed.

    \b
    Example:
      vault-memory uninstall --dry-run
    """

    def disconnect(host: str, project: Path | None, only_look: bool) -> "Sequence[FileChange]":
        folder = str(project) if project else None
        options = InstallOptions(None, None, False, False, False, True, only_look, folder)
        return carry_out(context, None, host, options).changes

    try:
        machine = uninstaller.Uninstaller(os.environ, disconnect, purge=purge)
        rows = machine.found()
    except OSError as error:
        raise StateFolderUnusable(
            f"`{error.filename}` cannot be read: {error.strerror}",
            hint="make it readable, and run `vault-memory uninstall` again; nothing was removed",
        ) from None
    reason = _reason_to_stop(context, rows, yes=yes, dry_run=dry_run)
    if reason:
        _emit_removal(context, rows, removed=False)
        context.say(f"nothing was removed: {reason}")
        return 0 if dry_run or not rows else 1
    if not (yes or _is_confirmed(context, rows)):
        return 0
    rows = machine.carry_out(rows)
    is_complete = not uninstaller.is_refused(rows)
    _emit_removal(context, rows, removed=is_complete)
    next_step = "next: `pipx uninstall vault-memory`, or what you installed it with"
    context.say(next_step if is_complete else "not all was removed")
    return 0 if is_complete else 1


def _reason_to_stop(context: Context, rows: "Sequence[Row]", *, yes: bool, dry_run: bool) -> str:
    """Return why nothing but the list is wanted, or possible; "" where the removal may begin."""
    if not rows:
        return "nothing of ours is on this machine"
    if uninstaller.is_refused(rows):
        return "something is in the way"
    if dry_run or not (yes or context.can_ask()):
        return "`--yes` removes what is listed"
    return ""


def _is_confirmed(context: Context, rows: "Sequence[Row]") -> bool:
    context.line("\n".join(uninstaller.lines(rows)))
    if click.confirm("Remove all of this? You cannot undo it."):
        return True
    context.say("nothing was removed")
    return False


def _emit_removal(context: Context, rows: "Sequence[Row]", *, removed: bool) -> None:
    answer = uninstaller.answer(rows, removed=removed)
    context.emit(answer, lambda: "\n".join(uninstaller.lines(rows)))


def _check(context: Context, host: str | None) -> None:
    """Print the state of one host, or of all."""
    if host is not None:
        programs.host(host)
    with context.open() as memory:
        statuses = [
            status for status in host_checks.statuses(memory) if host in (None, status.host)
        ]
    answer: InstallCheckJson = {"hosts": list(map(host_checks.as_json, statuses))}
    context.emit(answer, lambda: "\n".join(map(host_checks.line_of, statuses)))


def name_owner(context: Context, options: "InstallOptions") -> None:
    """Make the person of a bot the owner of notes without a named owner, and say so."""
    user = options.user
    if not user or options.uninstall:
        return
    with VaultMemory.open(context.vault, context.config) as memory:
        if context.new or owner.has_owner(memory.vault):
            return
        memory.refresh()
        if not scope_names.sole_owner(memory.searcher):
            return
        root = memory.root
    # Fault: the notes would go on belonging to a name that nobody has.
    question = f"Are the notes in {displayed_path(root)} those of {user}?"
    if context.can_ask() and not click.confirm(question, default=True):
        return
    if options.dry_run:
        context.say(f"the notes would belong to {user}: nobody has named their owner")
        context.new = True
        return
    owner.set_owner(root, user)
    context.say(f"these notes belong to {user} from now on")
