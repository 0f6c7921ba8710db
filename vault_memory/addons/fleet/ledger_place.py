"""Where a ledger in SQLite is: its address in the configuration, and folders that it must not be in."""

import os
from collections.abc import Iterable
from pathlib import Path

from vault_memory.errors import ConfigError
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.watch import mounts

SCHEME = "sqlite:"
BEGINNING = "sqlite:///"
"""What comes before an absolute path"""
FORM = "give `sqlite:////` and the rest of an absolute path, such as `sqlite:////srv/fleet/ledger.sqlite`"


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
