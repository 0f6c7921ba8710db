"""`fleet`: several hosts that share the vaults of many people."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory import config as configuration
from vault_memory.addons.fleet import fleet_calls, fleet_config, fleet_forget
from vault_memory.addons.fleet.serving import fleet_server
from vault_memory.cli.optional_dependencies import need
from vault_memory.cli.options import Context, common, grouped
from vault_memory.errors import CannotAsk, UsageError
from vault_memory.http import listen

if TYPE_CHECKING:
    from vault_memory.addons.fleet.fleet_config import FleetConfig
    from vault_memory.addons.fleet.fleet_forget import FleetForgotten
    from vault_memory.addons.fleet.ledger.ledger import Ledger
    from vault_memory.contract.fleet_answers import (
        FleetDrainedJson,
        FleetExportedJson,
        FleetMadeJson,
        FleetStatusJson,
    )

ACTIONS = ("init", "add", "token", "host", "status", "drain", "export", "forget")
NAMED = ("add", "token", "drain", "export", "forget")
"""Actions that need the name of a vault or a host"""
TARGETED = ("export", "forget")
"""Actions that also need a folder or a text"""


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """The options, each of one action."""

    home: str | None
    source: str | None
    user: str | None
    host: str | None
    port: int | None
    yes: bool
    dry_run: bool


@click.command()
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("name", required=False)
@click.argument("target", required=False)
@click.option(
    "--home",
    metavar="URL",
    help="With add: where the files of the vault live, such as s3://bucket/folder.",
)
@click.option(
    "--from",
    "source",
    metavar="PATH",
    help="With add: copy this local vault into the home; it stays as it is.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="With add and token: the person whom the token serves. Default for add: the only"
    " person of the --from vault, else NAME.",
)
@click.option(
    "--host", metavar="ADDRESS", help="With host: the address to listen on. Default: `serve.host`."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="With host: the port to listen on; 0 takes any free port.",
)
@click.option("--yes", is_flag=True, help="With forget: remove the text.")
@click.option(
    "--dry-run", is_flag=True, help="With forget: show where the text is; remove nothing."
)
@common
@click.pass_obj
@grouped(FleetOptions, "options")
def fleet(
    context: Context, action: str, name: str | None, target: str | None, options: FleetOptions
) -> int:
    """Share the vaults of many people between several hosts.

    \b
    init                makes the ledger in the database that [fleet] names
    add NAME            adds a vault, and prints its token once
    token NAME          replaces all tokens of a vault by a new one for --user, and prints it
    host                serves vaults over HTTP and MCP until it is drained or ended
    status              lists hosts and vaults
    drain HOST          lets a host give back its vaults and end
    export NAME TARGET  writes the files of a vault into a new folder TARGET
    forget NAME TARGET  removes the text TARGET from a vault, its home and all hosts

    The configuration of --config names the database and the account of the homes: PostgreSQL, or
    a file of SQLite for hosts on one machine. It has no passwords: those are in files that it
    names, or in the variables of PostgreSQL and AWS.

    \b
    Examples:
      vault-memory fleet init --config fleet.toml
      vault-memory fleet add ann --home s3://bucket/ann --from ~/notes --config fleet.toml
    """
    _check_arguments(action, name, target)
    _check_consent(action, options)
    new_vault = _new_vault(name, options) if action == "add" else None
    config = load_fleet(context, os.environ)
    if action == "host":
        need("web")
        # Fault: after a start of the machine, PostgreSQL may answer later than this host.
        ledger = fleet_server.when_it_answers(config.open_ledger)
    else:
        ledger = config.open_ledger(create=action == "init")
    try:
        match action:
            case "init":
                made: FleetMadeJson = {"fleet": ledger.fleet}
                context.emit(made, lambda: f"the fleet {ledger.fleet} has a ledger")
            case "add":
                assert new_vault is not None
                added = fleet_calls.add(config, ledger, new_vault)
                context.emit(added, lambda: f"{added['vault']}\n{added['token']}")
                context.say("the token is not shown again")
            case "token":
                user = _token_user(str(name), options)
                renewed = fleet_calls.renew_token(ledger, str(name), user)
                context.emit(renewed, lambda: f"{renewed['vault']}\n{renewed['token']}")
                context.say("earlier tokens open nothing after some seconds")
            case "host":
                _serve(context, config, ledger, options)
            case "status":
                answer = fleet_calls.status(ledger)
                context.emit(answer, lambda: "\n".join(_status_lines(answer)))
            case "drain":
                host = fleet_calls.drain(ledger, str(name))
                drained: FleetDrainedJson = {"host": host.name}
                context.emit(drained, lambda: f"{host.name} holds no vaults")
            case "export":
                _export(context, config, ledger, str(name), str(target))
            case _:
                forgotten = fleet_forget.forget(
                    config,
                    ledger,
                    str(name),
                    sys.stdin.read() if target == "-" else str(target),
                    dry_run=options.dry_run,
                )
                return _emit_forgotten(context, forgotten)
    finally:
        ledger.close()
    return 0


def _export(
    context: Context, config: "FleetConfig", ledger: "Ledger", name: str, target: str
) -> None:
    folder = Path(target).expanduser()
    count = fleet_calls.export(config, ledger, name, folder)
    exported: FleetExportedJson = {"folder": str(folder), "files": count}
    context.emit(exported, lambda: f"{count} files in {folder}")


def _emit_forgotten(context: Context, forgotten: "FleetForgotten") -> int:
    """Print the report, and return 1 when a copy of the fleet may still have the text."""
    context.emit(forgotten.as_json(), lambda: "\n".join(_forgotten_lines(forgotten)))
    report = forgotten.report
    if report.receipt is None:
        return 0
    return 0 if forgotten.is_complete and not report.remaining else 1


def _forgotten_lines(forgotten: "FleetForgotten") -> Iterator[str]:
    report = forgotten.report
    verb = "removed" if report.receipt else "found"
    yield f"{verb}: {report.matches} in the vault"
    for match in report.removed:
        yield f"  {match.place}  {match.count}"
    for residue in report.remaining:
        yield f"still there: {residue.place}: {residue.why}"
    if report.receipt is None:
        return
    yield f"deleted: {forgotten.versions} earlier versions in the home"
    for host in forgotten.hosts:
        yield f"deleted: the local copy on the host {host}"
    for unreached in forgotten.unreached:
        yield f"not reached: {unreached}"
    yield f"receipt {report.receipt.id}, {report.receipt.ts}"


def _check_arguments(action: str, name: str | None, target: str | None) -> None:
    if action in NAMED and not name:
        raise UsageError(
            f"`fleet {action}` needs a name", hint=f"run `vault-memory fleet {action} NAME`"
        )
    if action in TARGETED and not target:
        raise UsageError(
            f"`fleet {action}` needs a new folder, or a text to forget",
            hint=f"run `vault-memory fleet {action} NAME TARGET`",
        )
    has_too_many = target and action not in TARGETED
    if has_too_many or (name and action not in NAMED):
        raise UsageError(
            f"`fleet {action}` does not take so many arguments",
            hint="run `vault-memory fleet --help`",
        )


def _check_consent(action: str, options: FleetOptions) -> None:
    """Check that a text is removed on purpose. Raises CannotAsk."""
    if action == "forget" and not (options.yes or options.dry_run):
        raise CannotAsk(
            "`fleet forget` removes a text for good",
            "give `--yes` to remove it, or `--dry-run` to see where it is",
        )


def load_fleet(context: Context, environment: Mapping[str, str]) -> "FleetConfig":
    """Load the configuration of the host. Raises ConfigError, ExtraMissing."""
    named = context.config or environment.get("VAULT_MEMORY_CONFIG")
    file = Path(named).expanduser() if named else None
    # Fault: without this check, a misspelt file would count as an empty one.
    if file is not None and not file.exists():
        raise configuration.missing(file)
    loaded = configuration.load(file, environment)
    config = fleet_config.FleetConfig(loaded, dict(environment))
    if config.needs_postgres:
        need("fleet")
    return config


def _serve(
    context: Context, config: "FleetConfig", ledger: "Ledger", options: FleetOptions
) -> None:
    """Serve vaults until the host is drained or ended."""
    serve = config.config.serve
    port = serve.port if options.port is None else options.port
    listening = listen.at_address(options.host or serve.host, port)

    def say_where(address: str) -> None:
        context.say(f"the host {config.host} listens on {address}")

    fleet_server.serve(config, ledger, listening, say_where)
    context.say("stopped")


def _new_vault(name: str | None, options: FleetOptions) -> "fleet_calls.NewVault":
    if not options.home:
        raise UsageError(
            "`fleet add` needs the home of the vault",
            hint="give `--home s3://bucket/folder`, or the `https://` address of a folder",
        )
    source = Path(options.source).expanduser() if options.source else None
    return fleet_calls.NewVault(str(name), options.home, source, options.user or "")


def _token_user(name: str, options: FleetOptions) -> str:
    """Return the person whom a new token serves. Raises UsageError."""
    if not options.user:
        raise UsageError(
            "`fleet token` needs the person whom the token serves",
            hint=f"run `vault-memory fleet token {name} --user NAME`",
        )
    return options.user


def _status_lines(status: "FleetStatusJson") -> Iterator[str]:
    for host in status["hosts"]:
        drains = ", draining" if host["draining"] else ""
        silent = f"seen {host['silent_seconds']:.0f} s ago"
        yield f"host {host['name']}: {host['vaults']} vaults, {silent}{drains}"
    for vault in status["vaults"]:
        holder = f"held by {vault['holder']}" if vault["holder"] else "at rest"
        waiting = f", {vault['waiting']} operations wait" if vault["waiting"] else ""
        trouble = f", {vault['trouble']}" if vault["trouble"] else ""
        yield f"vault {vault['name']}: {holder}{waiting}{trouble}"
    total = len(status["vaults"])
    yield (
        f"{total} vaults: {status['leased']} held, {status['due']} due,"
        f" {status['troubled']} with trouble; {status['waiting']} operations wait"
    )
