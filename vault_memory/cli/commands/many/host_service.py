"""The service of a host: what `service` writes for a folder of vaults."""

import os
import pwd
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from vault_memory.admin import service_templates, service_units
from vault_memory.cli.commands.many import host_command
from vault_memory.cli.listener_settings import Listener
from vault_memory.cli.optional_dependencies import need
from vault_memory.cli.options import Context
from vault_memory.errors import UsageError, VaultUnreachable
from vault_memory.service import host_folder

if TYPE_CHECKING:
    from vault_memory.admin.service_templates import Job
    from vault_memory.admin.service_units import UnitPlace


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
        settings = host_command.settings(context, self.listener, environment)
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
        socket = settings.serve.socket
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
