"""`host`: one process that serves and tends many vaults, and the service that runs it."""

import os
import pwd
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import click

from vault_memory import config as configuration
from vault_memory.admin import service_templates, service_units
from vault_memory.api import daemon_client
from vault_memory.cli.commands import status
from vault_memory.cli.listener_settings import (
    Listener,
    listener_options,
    listener_settings,
    warn_if_unencrypted,
)
from vault_memory.cli.optional_dependencies import need
from vault_memory.cli.options import Context, common
from vault_memory.contract import as_json
from vault_memory.errors import ConfigError, UsageError, VaultUnreachable
from vault_memory.http import listen
from vault_memory.mcp import streamable_http
from vault_memory.service import (
    host_folder,
    host_report,
    host_server,
    service_manager,
    vault_catalog,
    vault_host,
)

if TYPE_CHECKING:
    from vault_memory.admin.service_templates import Job
    from vault_memory.admin.service_units import UnitPlace
    from vault_memory.config.sections import Config
    from vault_memory.config.server_sections import Serve
    from vault_memory.contract.host_answers import VaultHostJson
    from vault_memory.service.vault_host import VaultHost


@click.command()
@click.option(
    "--vaults",
    "folder",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder of the vaults, up to three levels below it.",
)
@click.option(
    "--http/--no-http", "http", default=True, help="Serve bots over HTTP, or only tend the vaults."
)
@listener_options("the pages")
@click.option(
    "--status",
    "shows_status",
    is_flag=True,
    help="Show the state of the host and of each vault, and exit.",
)
@click.option(
    "--doctor",
    "shows_checks",
    is_flag=True,
    help="Check the host and each vault for problems, and exit.",
)
@common
@click.pass_obj
def host(
    context: Context, folder: Path, listener: Listener, shows_status: bool, shows_checks: bool
) -> None:
    """Serve and tend all vaults below a folder until Ctrl-C, in one process.

    Each vault keeps its own configuration. Its [[serve.tokens]] open it under the routes of
    `serve`. A vault is opened when a bot asks, when something in it changes or is due, and
    closed again when nothing happens. --config names the configuration of the host:
    its sections [host] and [serve].

    \b
    Examples:
      vault-memory host --vaults /srv/vaults --port 8377
      vault-memory host --vaults /srv/vaults --status
    """
    if context.vault:
        raise UsageError(
            "`host` serves a folder of vaults, and no single vault",
            hint="leave `--vault` out; `vault-memory serve` serves one vault",
        )
    if shows_status:
        answer = _status(folder)
        context.emit(answer, lambda: "\n".join(_status_lines(answer)))
        return
    if shows_checks:
        _print_checks(context, folder)
        return
    config = settings(context, listener, os.environ)
    server = vault_host.VaultHost(folder, dict(os.environ), config)
    if listener.http:
        _serve(context, server, with_page=listener.web)
    else:
        _tend(context, server)
    context.say("stopped")


def settings(context: Context, listener: Listener, environment: Mapping[str, str]) -> "Config":
    """Return the configuration with the options of the command line over it.

    Raises ConfigError, UsageError.
    """
    file = Path(context.config) if context.config else None
    if file is not None and not file.exists():
        raise configuration.missing(file)
    config = configuration.load(file, environment)
    if config.serve.tokens:
        raise ConfigError(
            "the configuration of a host names no tokens: each belongs to a vault",
            hint="move `[[serve.tokens]]` to the configuration of the vault",
        )
    return config._replace(serve=_serve_settings(config.serve, listener))


def _serve_settings(configured: "Serve", listener: Listener) -> "Serve":
    settings = listener_settings(configured, listener, hint="leave one of them out")
    if listener.web and settings.socket:
        raise UsageError(
            "--web needs an address: no browser opens a socket", hint="leave `--socket` out"
        )
    return settings


def _serve(context: Context, server: "VaultHost", *, with_page: bool) -> None:
    need("web")
    settings = server.config.serve
    warn_if_unencrypted(context, settings)
    listening = listen.listening_of(settings)
    server.address = listening.address

    def say_where() -> None:
        server.ready()
        context.say(_ready_text(server))
        context.say(f"listening on {listening.address}")

    with server.running():
        host_server.serve_host(
            server,
            listening,
            {"/mcp": streamable_http.application(server)},
            say_where,
            with_page=with_page,
        )


def _tend(context: Context, server: "VaultHost") -> None:
    """Tend the vaults without a server until a signal."""
    stop = service_manager.StopRequest()
    stop.make_at_signals()
    with stop.waking(), server.running():
        server.ready()
        context.say(_ready_text(server))
        stop.wait()


def _ready_text(server: "VaultHost") -> str:
    count = len(server.vaults())
    text = f"serving {count} vaults in {server.catalog.folder}"
    troubled = len(server.catalog.troubled())
    return f"{text}; {troubled} cannot be served" if troubled else text


def _status(folder: Path) -> "VaultHostJson":
    """Return what the running host reports, else what the folder shows."""
    place = host_folder.host_folder(folder, os.environ)
    answer: VaultHostJson | None = daemon_client.ask(place.socket, "status", {})  # type: ignore[assignment]
    if answer is not None:
        return answer
    catalog = vault_catalog.VaultCatalog(folder, os.environ)
    catalog.renew()
    return host_report.catalog_status(catalog)


def _print_checks(context: Context, folder: Path) -> None:
    """Print what the checks say. Exits with 1 when one failed."""
    checks = list(host_report.checks(_status(folder)))
    context.emit(
        {"checks": as_json(checks)},
        lambda: status.checks_text(checks, None),
        view=lambda screen: status.checks_text(checks, screen),
    )
    if any(check.state == "fail" for check in checks):
        raise click.exceptions.Exit(1)


def _status_lines(answer: "VaultHostJson") -> list[str]:
    state = "no host runs"
    if answer["running"]:
        state = f"process {answer['pid']}"
        if answer["address"]:
            state += f", listening on {answer['address']}"
    lines = [f"{answer['folder']}: {len(answer['vaults'])} vaults, {state}"]
    folder = Path(answer["folder"])
    for row in answer["vaults"]:
        name = Path(row["root"]).relative_to(folder)
        tokens = f"{row['tokens']} tokens" if row["tokens"] != 1 else "1 token"
        line = f"  {name}  {row['state']}, {tokens}"
        lines.append(f"{line}: {row['trouble']}" if row["trouble"] else line)
    return lines


class NoVaults(VaultUnreachable):
    """There is no vault below the folder of the vaults."""

    def __init__(self, folder: Path) -> None:
        name = shlex.quote(str(folder / "NAME"))
        super().__init__(
            f"there is no vault below `{folder}`",
            hint=f"make one with `vault-memory init {name}`, or name another folder",
        )


class Service(Protocol):
    """A host as a service."""

    name: ClassVar[str]
    """of its unit, where no other is given"""

    def owner_id(self, environment: Mapping[str, str]) -> str:
        """Return the id of the host."""

    def job(self, context: Context, place: "UnitPlace", environment: Mapping[str, str]) -> "Job":
        """Return what the unit runs. Raises VaultUnreachable, UsageError, ConfigError, ExtraMissing."""


@dataclass(frozen=True, slots=True)
class HostService:
    """The host of a folder of vaults as a service."""

    name: ClassVar[str] = "vault-memory-host"

    folder: Path
    listener: Listener

    def owner_id(self, environment: Mapping[str, str]) -> str:
        """Return the id of the host, which is one for each folder."""
        return host_folder.host_folder(self.folder, environment).path.name

    def job(self, context: Context, place: "UnitPlace", environment: Mapping[str, str]) -> "Job":
        """Return what the unit runs.

        Raises VaultUnreachable, UsageError, ConfigError, ExtraMissing.
        """
        if self.listener.http:
            need("web")
        socket = settings(context, self.listener, environment).serve.socket
        root = Path(os.path.realpath(self.folder))
        vault = _checked_vaults(root)
        account = service_units.account_of(place, vault, environment)
        if not account.state_root.is_dir():
            raise VaultUnreachable(
                f"the vaults have no state folder `{account.state_root}` yet",
                hint=f"run `vault-memory status --vault {shlex.quote(str(vault))}`"
                f" once as {account.owner or 'yourself'}",
            )
        # Each vault has a state folder, and new vaults get theirs while the host runs.
        folders = [root, account.state_root]
        if socket and self.listener.http:
            folders.append(_socket_folder(socket))
        config = Path(context.config) if context.config else None
        return service_templates.Job(
            name=place.name,
            title=str(root),
            program=service_units.program(),
            arguments=("host", "--vaults", str(root), *self.listener.words()),
            config=service_units.absolute(config),
            state_root=account.state_root,
            folders=tuple(folders),
            log=account.state_root / f"{place.name}.log",
            cache=account.cache,
            owner=account.owner,
            is_host=True,
        )


def _checked_vaults(root: Path) -> Path:
    """Return a vault below the folder. Raises NoVaults, UsageError."""
    host_folder.check_folder(root)
    vaults = sorted(map(Path, host_folder.vault_folders(str(root))))
    # Fault: a misspelt folder would get a service that serves no vault.
    if not vaults:
        raise NoVaults(root)
    owners = {vault.stat().st_uid: vault for vault in vaults}
    # Fault: a host runs as one user, and could not write to the vaults of the others.
    if len(owners) > 1:
        first, second, *_ = owners.items()
        raise UsageError(
            f"the vaults below `{root}` belong to several users:"
            f" `{first[1]}` to {_user(first[0])}, `{second[1]}` to {_user(second[0])}",
            hint="give them to one user with `chown -R`, or use a folder for each user",
        )
    return vaults[0]


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _socket_folder(socket: str) -> Path:
    """Return the folder of a socket, which the service must be able to write to."""
    folder = Path(os.path.abspath(socket)).parent
    # Fault: systemd does not start a service whose writable folder is missing.
    if not folder.is_dir():
        raise UsageError(
            f"the folder of the socket `{socket}` does not exist",
            hint="make it first, as the user of the service",
        )
    return folder
