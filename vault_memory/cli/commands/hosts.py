"""`hook` and `install`: a vault is plugged into a program that people talk to."""

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, private
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.hosts import hook_command, installer, recipes
    from vault_memory.hosts.installer import Changed
    from vault_memory.hosts.recipes import Plan, Wire
else:
    hook_command = lazy_module("vault_memory.hosts.hook_command")
    installer = lazy_module("vault_memory.hosts.installer")
    recipes = lazy_module("vault_memory.hosts.recipes")


@click.command()
@click.argument("host")
@click.option("--user", metavar="NAME", help="Whom the bot serves.")
@click.option("--channel", metavar="NAME", help="Where, when that is a channel.")
@click.option(
    "--group",
    metavar="NAME",
    multiple=True,
    help="A group whose notes are open, too (repeatable).",
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
    """Answer one event of HOST (claude-code, codex), which comes as JSON on standard input.

    SessionStart is answered with the memory block. UserPromptSubmit is recorded, and answered with recalled lines when
    `auto_recall` of `[memory_search]` is on. Stop records what the bot answered. PreCompact and SessionEnd record the
    answers that are not recorded yet, as far as the transcript that the host names tells them, and the latter ends the
    session. It ends with 0 whatever happens, and then
    prints nothing; why stands in `hook.log` of the state folder. `install` has hosts call it.
    """
    given = {
        "vault": context.vault,
        "config": context.config,
        "user": user,
        "channel": channel,
    }
    words = [
        word for name, value in given.items() if value for word in (f"--{name}", value)
    ]
    words += [word for name in group for word in ("--group", name)]
    words += ["--private"] if private else []
    sys.exit(
        hook_command.run(
            [host, *words, *(("--now", context.now.isoformat()) if context.now else ())]
        )
    )


@click.command()
@click.argument("host", metavar="HOST")
@click.option(
    "--user",
    metavar="NAME",
    help="Whom the bot serves; needed when the vault knows several persons.",
)
@click.option("--channel", metavar="NAME", help="Where, when that is a channel.")
@private
@click.option(
    "--allow",
    is_flag=True,
    help="Let HOST use the tools without asking (claude-code, codex, gemini-cli).",
)
@click.option("--uninstall", is_flag=True, help="Take out exactly what was put in.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would change, and change nothing."
)
@common
@click.pass_obj
def install(
    context: Context,
    host: str,
    user: str | None,
    channel: str | None,
    private: bool,
    allow: bool,
    uninstall: bool,
    dry_run: bool,
) -> None:
    """Plug the vault into HOST: claude-code, codex, gemini-cli, opencode, claude-desktop, openclaw or hermes.

    Its configuration is changed where it must be, with a backup beside it; all else in it stays as it is. To do it
    again changes nothing; to do it without `--allow` takes back what that allowed.
    """
    with context.open() as memory:
        if not uninstall:
            with context.progress() as progress:
                memory.refresh(progress)  # a hook has no time to read a whole vault
        wire = _wire(context, memory, user, channel, uninstall=uninstall)
        wire = replace(wire, private=private, allow=allow and not uninstall)
        plan = recipes.plan(host, wire, os.environ)
        act = installer.uninstall if uninstall else installer.install
        changed = act(
            plan,
            memory.vault.state.path,
            now=context.now or datetime.now(UTC),
            dry_run=dry_run,
        )
    then = (
        plan.then
        if any(one.changed for one in changed) and not uninstall and not dry_run
        else ()
    )
    files = [
        {
            "path": one.file,
            "changed": one.changed,
            "backup": one.backup,
            "diff": one.diff,
        }
        for one in changed
    ]
    answer = {
        "host": host,
        "user": wire.user,
        "server": True,
        "then": list(then),
        "files": files,
    }
    context.emit(
        answer,
        lambda: _human(changed, wire, plan, dry_run=dry_run, uninstall=uninstall),
    )


def _wire(
    context: Context,
    memory: "VaultMemory",
    user: str | None,
    channel: str | None,
    *,
    uninstall: bool,
) -> "Wire":
    vault = Path(os.path.abspath(memory.root))
    config = Path(os.path.abspath(context.config)) if context.config else None
    try:
        os.fspath(vault).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            f"`{vault!r}` cannot be written into a configuration: its name is not UTF-8"
        ) from None
    person = user or (memory.layout.user if uninstall else _person(memory))
    return recipes.Wire(_program(), vault, person, channel or "", config)


def _person(memory: "VaultMemory") -> str:
    """The one person that the vault knows."""
    known = [
        scope.removeprefix("user:")
        for scope in memory.scopes()
        if scope.startswith("user:")
    ]
    if len(known) > 1:
        raise UsageError(
            f"the vault knows several persons: {', '.join(known)}",
            hint="say whom the bot serves: --user NAME",
        )
    return known[0] if known else memory.layout.user


def _program() -> tuple[str, ...]:
    """How this program can be run from anywhere."""
    started = Path(os.path.abspath(sys.argv[0]))
    if started.name == "vault-memory" and os.access(started, os.X_OK):
        return (str(started),)
    beside = Path(sys.executable).with_name("vault-memory")
    return (
        (str(beside),)
        if os.access(beside, os.X_OK)
        else (sys.executable, "-m", "vault_memory")
    )


def _human(
    changed: "list[Changed]",
    wire: "Wire",
    plan: "Plan",
    *,
    dry_run: bool,
    uninstall: bool,
) -> str:
    lines = []
    for one in changed:
        what = "would change" if dry_run else "changed"
        lines.append(
            f"{what}: {one.file}" if one.changed else f"as it should be: {one.file}"
        )
        if one.backup:
            lines.append(f"backup: {one.backup}")
        if dry_run and one.changed:
            lines.append(one.diff.rstrip("\n"))
    if uninstall or dry_run or not any(one.changed for one in changed):
        return "\n".join(lines)
    lines.append(f"for: {wire.user}" + (f" in {wire.channel}" if wire.channel else ""))
    return "\n".join([*lines, *(f"next: {step}" for step in plan.then)])
