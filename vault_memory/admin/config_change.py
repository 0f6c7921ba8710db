"""Changes one table of a vault's configuration. A copy of the file from before stays beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vault_memory.config import state_file
from vault_memory.config.toml_edit import with_table
from vault_memory.errors import ConfigError
from vault_memory.search.open_vault import OpenVault


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """The configuration file after a change."""

    file: Path
    backup: Path | None
    """the file before the change; None when there was no file"""


def change_table(vault: OpenVault, table: str, values: Mapping[str, object]) -> ConfigChange:
    """Writes these keys into a table of the configuration file; its other keys stay.

    The vault has to be opened again. Raises ConfigError.
    """
    file = vault.config_file
    if file is None:
        raise ConfigError(
            "there is no configuration file to write to", hint="name one with `--config`"
        )
    raw = file.read_bytes() if file.exists() else b""
    text = with_table(raw.decode("utf-8"), table, values)
    backup = None
    if raw:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        backup = file.with_name(f"{file.name}.{stamp}.bak")
        state_file.write(backup, raw.decode("utf-8"), durable=True)
    state_file.write(file, text, durable=True)
    return ConfigChange(file, backup)
