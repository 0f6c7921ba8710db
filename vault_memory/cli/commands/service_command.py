"""`service`: lets the service manager of the machine run the daemon."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, grouped
from vault_memory.errors import VaultUnreachable
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.admin import service_units
    from vault_memory.admin.service_units import Installed, Kind
    from vault_memory.contract.setup_answers import ServiceUnitJson
    from vault_memory.vault import locate
    from vault_memory.vault import marker as vault_marker
else:
    service_units = lazy_module("vault_memory.admin.service_units")
    locate = lazy_module("vault_memory.vault.locate")
    vault_marker = lazy_module("vault_memory.vault.marker")


@dataclass(frozen=True, slots=True)
class UnitOptions:
    """Which unit to write or remove."""

    own: bool
    """for the service manager of the user, not for that of the machine"""
    name: str
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
    "--name",
    default="vault-memory",
    show_default=True,
    metavar="NAME",
    help="The name of the unit.",
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
@grouped(UnitOptions, "options")
def service(
    context: Context,
    action: str,
    options: UnitOptions,
) -> None:
    """Write or remove a unit with which systemd or launchd runs the daemon of this vault.

    The service manager restarts the daemon when it fails or hangs. The unit lets the daemon
    write only to the vault and its state. The command starts and stops nothing: it prints
    the commands for that.

    \b
    Example:
      vault-memory --vault ~/vault service install --user
    """
    place = service_units.place_of(
        options.name,
        own=options.own,
        kind=options.kind,
        environment=os.environ,
    )
    vault, vault_id = _vault(context, options.own)
    if action == "install":
        config = context.config or os.environ.get("VAULT_MEMORY_CONFIG")
        job = service_units.job_of(
            place,
            vault,
            vault_id,
            Path(config) if config else None,
            os.environ,
        )
        result = service_units.install(place, job, vault_id, dry_run=options.dry_run)
        for variable in service_units.ignored_variables(os.environ):
            context.say(
                f"{variable} is set here but not in the unit; put it into the configuration file"
            )
    else:
        result = service_units.uninstall(place, vault_id, dry_run=options.dry_run)
    answer: ServiceUnitJson = {
        "unit": str(result.unit),
        "state": result.state,
        "text": result.text,
        "next": list(result.next),
    }
    context.emit(answer, lambda: "\n".join(_lines(result, options.dry_run)))


def _vault(
    context: Context,
    own: bool,
) -> tuple[Path, str]:
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


def _lines(
    result: "Installed",
    dry_run: bool,
) -> Iterator[str]:
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
