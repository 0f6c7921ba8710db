"""A host of a fleet as a service: what `service --fleet` writes."""

import hashlib
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from vault_memory.addons.fleet import fleet_commands
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerMissing
from vault_memory.admin import service_templates, service_units
from vault_memory.cli.listener_settings import Listener
from vault_memory.cli.optional_dependencies import need
from vault_memory.cli.options import Context
from vault_memory.errors import ConfigError

if TYPE_CHECKING:
    from vault_memory.addons.fleet.fleet_config import FleetConfig
    from vault_memory.admin.service_templates import Job
    from vault_memory.admin.service_units import UnitPlace


@dataclass(frozen=True, slots=True)
class FleetService:
    """A host of a fleet as a service."""

    name: ClassVar[str] = "vault-memory-fleet"

    config: Path
    listener: Listener

    def owner_id(self, environment: Mapping[str, str]) -> str:
        """Return the id of the host, which is one for each configuration file."""
        path = os.path.realpath(self.config).encode("utf-8", "surrogateescape")
        return hashlib.sha256(b"fleet\0" + path).hexdigest()[:32]

    def job(self, context: Context, place: "UnitPlace", environment: Mapping[str, str]) -> "Job":
        """Return what the unit runs. Raises ConfigError, ExtraMissing."""
        need("web")
        loaded = fleet_commands.load_fleet(context, environment)
        # Fault: the service would start and fail again and again.
        if not loaded.config.fleet.database:
            raise ConfigError(
                "the configuration names no database for the fleet",
                hint=f"set `fleet.database` in `{self.config}`",
            )
        scratch = _scratch_folder(loaded, place)
        account = service_units.account_of(place, scratch, environment)
        return service_templates.Job(
            name=place.name,
            title=f"host {loaded.host} of a fleet",
            program=service_units.program(),
            arguments=("fleet", "host", *self.listener.words()),
            config=service_units.absolute(self.config),
            state_root=account.state_root,
            folders=(scratch, *_ledger_folders(loaded)),
            log=scratch / "host.log",
            cache=account.cache,
            owner=account.owner,
            is_host=True,
        )


def _scratch_folder(loaded: "FleetConfig", place: "UnitPlace") -> Path:
    """Return the folder for local copies, which must exist before the service starts."""
    scratch = Path(os.path.abspath(loaded.scratch))
    if scratch.is_dir():
        return scratch
    # The owner of the folder is the user of the service.
    name = shlex.quote(str(scratch))
    command = f"install -d -m 700 {name}"
    if not place.own:
        command = f"sudo install -d -m 700 -o USER {name}"
    raise ConfigError(
        f"the folder for local copies `{scratch}` does not exist",
        hint=f"make it with `{command}`; its owner runs the service",
    )


def _ledger_folders(loaded: "FleetConfig") -> tuple[Path, ...]:
    """Return the folder of a ledger in SQLite, which the service must be able to write to."""
    file = loaded.ledger_file
    if file is None:
        return ()
    # Fault: systemd does not start a service whose writable folder is missing.
    if not file.exists():
        raise LedgerMissing
    return (file.parent,)
