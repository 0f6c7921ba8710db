"""`service`: hands the daemon to the service manager of the machine."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common
from vault_memory.errors import VaultUnreachable
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.admin import service_units
    from vault_memory.admin.service_units import Installed, Kind
    from vault_memory.vault import locate
    from vault_memory.vault import marker as vault_marker
else:
    service_units = lazy_module("vault_memory.admin.service_units")
    locate = lazy_module("vault_memory.vault.locate")
    vault_marker = lazy_module("vault_memory.vault.marker")


@click.command()
@click.argument("action", type=click.Choice(["install", "uninstall"]))
@click.option(
    "--user",
    "own",
    is_flag=True,
    help="For your own service manager; else for that of the machine.",
)
@click.option(
    "--name",
    default="vault-memory",
    show_default=True,
    metavar="NAME",
    help="Of the unit.",
)
@click.option(
    "--for",
    "kind",
    type=click.Choice(["systemd", "launchd"]),
    help="If not for this machine's own.",
)
@click.option("--dry-run", is_flag=True, help="Print the unit; nothing is written.")
@common
@click.pass_obj
def service(
    context: Context,
    action: str,
    own: bool,
    name: str,
    kind: "Kind | None",
    dry_run: bool,
) -> None:
    """Let systemd or launchd keep `vault-memory run` going for this vault, and start it anew when it fails or hangs.

    install writes a unit, which may write to the vault and its state and to nothing else; uninstall takes out what
    install has written. Neither starts or stops anything: the commands that do are printed.
    """
    place = service_units.place_of(name, own=own, kind=kind, environment=os.environ)
    vault, vault_id = _vault(context, own)
    if action == "install":
        config = context.config or os.environ.get("VAULT_MEMORY_CONFIG")
        job = service_units.job_of(
            place, vault, vault_id, Path(config) if config else None, os.environ
        )
        done = service_units.install(place, job, vault_id, dry_run=dry_run)
        for variable in service_units.left_out(os.environ):
            context.say(
                f"{variable} is set here and not in the unit; put it into the configuration file"
            )
    else:
        done = service_units.uninstall(place, vault_id, dry_run=dry_run)
    answer = {
        "unit": str(done.unit),
        "state": done.state,
        "text": done.text,
        "next": list(done.next),
    }
    context.emit(answer, lambda: "\n".join(_told(done, dry_run)))


def _vault(context: Context, own: bool) -> tuple[Path, str]:
    """The vault and its id. With sudo nothing of it is touched, so that nothing in it belongs to root."""
    if own:
        with context.open() as memory:
            return memory.root.absolute(), memory.vault.indexing.marker.vault
    root = locate.locate(context.vault, os.environ, start=Path.cwd()).absolute()
    marker = vault_marker.read_marker(root)
    if marker is None:
        raise VaultUnreachable(
            f"`{root}` was never used as a vault",
            hint="`vault-memory init` makes it one",
        )
    return root, marker.vault


def _told(done: "Installed", dry_run: bool) -> list[str]:
    if done.state == "absent":
        return [f"there is no {done.unit}"]
    if dry_run:
        return [f"# {done.unit}: would be {done.state}", *done.text.splitlines()]
    return [
        f"{done.state} {done.unit}",
        "next:",
        *(f"  {command}" for command in done.next),
    ]
