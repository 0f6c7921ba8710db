"""`service`: lets the service manager of the machine run the daemon, or a host."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.addons import table
from vault_memory.admin import service_units
from vault_memory.cli.commands import host_command
from vault_memory.cli.listener_settings import Listener
from vault_memory.cli.options import Context, common, grouped
from vault_memory.errors import UsageError, VaultUnreachable
from vault_memory.vault import locate
from vault_memory.vault import marker as vault_marker

if TYPE_CHECKING:
    from vault_memory.admin.service_units import Installed, Kind, UnitPlace
    from vault_memory.cli.commands.host_command import Service
    from vault_memory.contract.setup_answers import ServiceUnitJson


NAME = "vault-memory"


@dataclass(frozen=True, slots=True)
class UnitOptions:
    """Which unit to write or remove."""

    own: bool
    """for the service manager of the user, not for that of the machine"""
    name: str | None
    kind: "Kind | None"
    dry_run: bool


@click.command()
@click.argument("action", type=click.Choice(["install", "uninstall"]))
@click.option(
    "--user",
    "own",
    is_flag=True,
    help="Use your own service manager instead of that of the machine.",
)
@click.option(
    "--vaults",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Run `host` for the vaults below this folder.",
)
@click.option("--fleet", is_flag=True, help="Run `fleet host` with --config.")
@click.option(
    "--http/--no-http",
    "http",
    default=True,
    help="With --vaults: serve bots over HTTP, or only tend the vaults.",
)
@click.option(
    "--host", metavar="ADDRESS", help="With --vaults or --fleet: the address to listen on."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="With --vaults or --fleet: the port to listen on."
)
@click.option(
    "--socket", "path", metavar="PATH", help="With --vaults: listen on this Unix socket instead."
)
@click.option("--web", is_flag=True, help="With --vaults: serve the pages for people.")
@click.option(
    "--name",
    metavar="NAME",
    help="The name of the unit. Default: vault-memory; with --vaults vault-memory-host;"
    " with --fleet vault-memory-fleet.",
)
@click.option(
    "--for",
    "kind",
    type=click.Choice(["systemd", "launchd"]),
    help="The kind of service manager. Default: that of this machine.",
)
@click.option("--dry-run", is_flag=True, help="Print the unit; write nothing.")
@common
@click.pass_obj
@grouped(Listener, "listener")
@grouped(UnitOptions, "options")
def service(
    context: Context,
    action: str,
    folder: Path | None,
    fleet: bool,
    listener: Listener,
    options: UnitOptions,
) -> None:
    """Write or remove a unit with which systemd or launchd runs the daemon of this vault.

    With --vaults or --fleet the unit runs a host of many vaults. The service manager
    restarts the program when it fails or hangs. The unit lets it write only to the vaults
    and their state. The command starts and stops nothing: it prints the commands for that.

    \b
    Examples:
      vault-memory --vault ~/vault service install --user
      sudo vault-memory service install --vaults /srv/vaults --port 8377
    """
    chosen = _chosen_host(context, folder, listener, fleet=fleet)
    place = service_units.place_of(
        _name(options, chosen), own=options.own, kind=options.kind, environment=os.environ
    )
    if chosen is None:
        result = _change_daemon(context, action, options, place)
    else:
        result = _change_host(context, action, options, place, chosen)
    if action == "install":
        for variable in service_units.ignored_variables(os.environ):
            context.say(
                f"{variable} is set here but not in the unit; put it into the configuration file"
            )
    answer: ServiceUnitJson = {
        "unit": str(result.unit),
        "state": result.state,
        "text": result.text,
        "next": list(result.next),
    }
    context.emit(answer, lambda: "\n".join(_lines(result, options.dry_run)))


def _chosen_host(
    context: Context, folder: Path | None, listener: Listener, *, fleet: bool
) -> "Service | None":
    """Return the host that the options name; None for the daemon. Raises UsageError."""
    if folder is not None and fleet:
        raise UsageError("--vaults and --fleet are two kinds of host", hint="leave one of them out")
    if folder is None and not fleet:
        options = listener.words()
        # Fault: the daemon of a single vault serves no port.
        if options:
            raise UsageError(
                f"{options[0]} is only for a host of many vaults",
                hint="name the folder of the vaults with `--vaults DIR`",
            )
        return None
    option = "--fleet" if fleet else "--vaults"
    if context.vault:
        raise UsageError(
            f"--vault and {option} exclude each other: a service runs a daemon or a host",
            hint="leave one of them out; `service` writes a unit for each",
        )
    if folder is not None:
        return host_command.HostService(folder, listener)
    return _fleet_host(context, listener)


def _fleet_host(context: Context, listener: Listener) -> "Service":
    if not listener.http or listener.path is not None or listener.web:
        raise UsageError(
            "`fleet host` takes no --no-http, --socket and --web",
            hint="leave them out: the hosts of a fleet reach each other by an address",
        )
    config = context.config or os.environ.get("VAULT_MEMORY_CONFIG")
    if not config:
        raise UsageError(
            "a host of a fleet needs its configuration", hint="name the file with `--config FILE`"
        )
    unit = table.part("fleet.serving.fleet_service_unit")
    service: Service = unit.FleetService(Path(config).expanduser(), listener)
    return service


def _name(options: UnitOptions, chosen: "Service | None") -> str:
    """Return the name of the unit. The kinds of service have names of their own."""
    if options.name is not None:
        return options.name
    return NAME if chosen is None else chosen.name


def _change_daemon(
    context: Context, action: str, options: UnitOptions, place: "UnitPlace"
) -> "Installed":
    vault, vault_id = _vault(context, options.own)
    if action == "uninstall":
        return service_units.uninstall(place, vault_id, dry_run=options.dry_run)
    config = context.config or os.environ.get("VAULT_MEMORY_CONFIG")
    job = service_units.job_of(place, vault, vault_id, Path(config) if config else None, os.environ)
    return service_units.install(place, job, vault_id, dry_run=options.dry_run)


def _change_host(
    context: Context, action: str, options: UnitOptions, place: "UnitPlace", chosen: "Service"
) -> "Installed":
    # Fault: a setting of this terminal would decide about paths that the service has not.
    environment = service_units.environment_of_service(os.environ)
    owner_id = chosen.owner_id(environment)
    if action == "uninstall":
        return service_units.uninstall(place, owner_id, dry_run=options.dry_run)
    job = chosen.job(context, place, environment)
    return service_units.install(place, job, owner_id, dry_run=options.dry_run)


def _vault(context: Context, own: bool) -> tuple[Path, str]:
    """Return the path of the vault and its id."""
    if own:
        with context.open() as memory:
            return memory.root.absolute(), memory.vault.indexing.marker.vault
    # With sudo nothing in the vault is opened or written: it would belong to root.
    root = locate.locate(context.vault, os.environ, start=Path.cwd()).absolute()
    marker = vault_marker.read_marker(root)
    if marker is None:
        raise VaultUnreachable(
            f"`{root}` was never used as a vault",
            hint=f"run `vault-memory init {root}` first, as its owner",
        )
    return root, marker.vault


def _lines(result: "Installed", dry_run: bool) -> Iterator[str]:
    if result.state == "absent":
        yield f"there is no {result.unit}"
    elif dry_run:
        yield f"# {result.unit}: would be {result.state}"
        yield from result.text.splitlines()
    else:
        yield f"{result.state} {result.unit}"
        yield "next:"
        for command in result.next:
            yield f"  {command}"
