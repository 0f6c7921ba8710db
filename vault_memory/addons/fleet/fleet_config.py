"""What a host of a fleet has from its configuration: the ledger, the homes, the scratch."""

import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vault_memory import places
from vault_memory.addons.fleet.ledger import local, postgres, postgres_connections
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.visit_settings import VisitSettings
from vault_memory.config import remote_checks
from vault_memory.config.s3_settings import is_s3
from vault_memory.config.secret_file import read_secret
from vault_memory.config.sections import Config, RemoteSettings
from vault_memory.errors import ConfigError, UsageError
from vault_memory.remote import remotes
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.watch import mounts

SCRATCHES = "fleet"
"""The folder of all scratches, in the folder of all states"""
OPERATORS = ("embedding", "brain", "remote", "serve", "web", "talk", "fleet")
"""Sections that the operator decides for all vaults: models, secrets and addresses"""
SCHEME = "sqlite:"
BEGINNING = "sqlite:///"
"""What comes before an absolute path"""
FORM = "give `sqlite:////` and the rest of an absolute path, such as `sqlite:////srv/fleet/ledger.sqlite`"


@dataclass(frozen=True, slots=True)
class FleetConfig:
    """The configuration of a host."""

    config: Config
    environment: Mapping[str, str] = field(repr=False)

    @property
    def host(self) -> str:
        """The name of this host in the ledger."""
        return self.config.fleet.name or socket.gethostname()

    @property
    def scratch(self) -> Path:
        """The folder with the local copies of vaults."""
        configured = self.config.fleet.scratch
        if configured:
            return Path(configured).expanduser()
        return Path(places.state_root(self.environment), SCRATCHES, self.host)

    @property
    def needs_postgres(self) -> bool:
        """Whether the ledger is in PostgreSQL. Raises ConfigError for a path."""
        database = self.config.fleet.database
        refuse_path(database)
        return bool(database) and not is_local(database)

    @property
    def ledger_file(self) -> Path | None:
        """The file of a ledger in SQLite; None for PostgreSQL. Raises ConfigError."""
        database = self.config.fleet.database
        if not is_local(database):
            return None
        path = path_of(database)
        default = Path(places.state_root(self.environment), SCRATCHES)
        check_place(path, [self.scratch, default])
        return path

    def open_ledger(self, *, create: bool = False) -> Ledger:
        """Open the ledger; `create` makes or migrates it.

        Raises ConfigError, LedgerRefused, LedgerMissing, LedgerTooNew, LedgerAway, DatabaseDamaged.
        """
        fleet = self.config.fleet
        if not fleet.database:
            raise ConfigError(
                "the configuration names no database for the fleet",
                hint="set `fleet.database` in the file of `--config`",
            )
        file = self.ledger_file
        if file is not None:
            return self._open_local(file, create=create)
        # Fault: `vault-memory config` and backups would show the password.
        if postgres_connections.has_password(fleet.database):
            raise ConfigError(
                "`fleet.database` contains a password",
                hint="put it into a file, and name that in `fleet.password_file`",
            )
        password = self._password()
        return postgres.PostgresLedger(fleet.database, password=password, create=create)

    def _open_local(self, file: Path, *, create: bool) -> Ledger:
        if self.config.fleet.password_file:
            # Fault: the operator expects the password to protect the file.
            raise ConfigError(
                "a ledger in SQLite has no password",
                hint="remove `fleet.password_file`; only you can read the file",
            )
        return local.LocalLedger(file, create=create)

    def _password(self) -> str:
        file = self.config.fleet.password_file
        if not file:
            return ""
        text = read_secret(Path(file), None, name="password file", setting="fleet.password_file")
        return text.rstrip("\r\n")

    def remote(self, home: str) -> RemoteSettings:
        """Return the settings for a home. Raises UsageError, ConfigError for a wrong address."""
        remote = self.config.remote._replace(url=home)
        # The address itself first: a wrong one is no reason to remove the settings of S3.
        address = remote
        if not is_s3(home):
            address = remote._replace(endpoint="", region="", credentials_file="")
        problems = remote_checks.problems_of(address) or remote_checks.problems_of(remote)
        if problems:
            raise UsageError(
                f"the address of the home is wrong: {problems[0]}",
                hint="give `s3://bucket/folder`, or the `https://` address of a folder",
            )
        # Fault: one folder under two spellings would be the home of two vaults.
        return remote._replace(url=remotes.one_spelling(home))

    def visit_settings(self, scratch: Path | None = None) -> VisitSettings:
        """Return what this host brings to each visit."""
        return VisitSettings(
            scratch=self.scratch if scratch is None else scratch,
            remote=self.config.remote,
            environment=self.environment,
            configure=self._configure,
        )

    def _configure(self, config: Config) -> Config:
        """Return the configuration of a vault with what the operator decides."""
        # Fault: the owner of a home could name a command or another model's address.
        own = {name: getattr(self.config, name) for name in OPERATORS}
        curation = config.curation._replace(summary_command=())
        return config._replace(curation=curation, **own)


# --- The place of the ledger ---

# Where a ledger in SQLite is: its address in the configuration, and folders that it must not be
# in.


def is_local(database: str) -> bool:
    """Return whether `fleet.database` names a file of SQLite."""
    return database.lower().startswith(SCHEME)


def path_of(database: str) -> Path:
    """Return the file of a ledger. Raises ConfigError."""
    beginning, path = database[: len(BEGINNING)], database[len(BEGINNING) :]
    # Fault: a relative path would be another file in each folder. The message does not repeat
    # the setting: it may have a password.
    if beginning.lower() != BEGINNING or not path.startswith("/"):
        raise ConfigError("the address of the fleet's database does not name a file", hint=FORM)
    # Fault: SQLite's own addresses have settings here that switch locks off.
    if "?" in path or "\0" in path:
        raise ConfigError(
            "the address of the fleet's database has settings, and SQLite takes none", hint=FORM
        )
    return Path(path)


def refuse_path(database: str) -> None:
    """Raise ConfigError for a path without its scheme."""
    if database.startswith(("/", "~", ".")):
        raise ConfigError("`fleet.database` is a path, and no address", hint=FORM)


def check_place(path: Path, scratches: Iterable[Path]) -> None:
    """Check that the ledger is on a disk of this machine, in no vault and no scratch.

    Raises ConfigError.
    """
    real = Path(os.path.realpath(path))
    # Fault: locks do not reach the other machines. Two hosts would hold one vault, and the
    # file would be damaged.
    if kind := mounts.network_file_system(real.parent):
        raise ConfigError(
            f"the ledger `{path}` is on a file system of the network ({kind})",
            hint="put it on a disk of this machine; for several machines use PostgreSQL",
        )
    # Fault: sync would upload the tokens and the words of all vaults of the fleet.
    for folder in {*path.parents, *real.parents}:
        if os.path.lexists(folder / MARKER):
            raise ConfigError(
                f"the ledger `{path}` is in the vault `{folder}`",
                hint="put it into a folder of its own",
            )
    # Fault: a scratch may be deleted at any time, and the ledger cannot be made again.
    for scratch in scratches:
        if real.is_relative_to(os.path.realpath(scratch)):
            raise ConfigError(
                f"the ledger `{path}` is in the scratch `{scratch}`",
                hint="put it into a folder of its own: a scratch may be deleted",
            )
