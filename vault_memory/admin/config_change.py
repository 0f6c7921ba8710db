"""Changes one table or one key of a vault's configuration, and keeps all other lines."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory import config as configuration
from vault_memory.config import state_file
from vault_memory.config.toml_edit import with_table
from vault_memory.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from vault_memory.search.open_vault import OpenVault


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """The configuration file after a change."""

    file: Path
    backup: Path | None
    """the file before the change; None when there was no file"""


def change_table(vault: "OpenVault", table: str, values: Mapping[str, object]) -> ConfigChange:
    """Writes these keys into a table of the configuration file; its other keys stay.

    A copy of the file from before stays beside it. The vault has to be opened again. Raises ConfigError.
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


def set_key(file: Path, key: str, value: str) -> None:
    """Write `table.key = value`, if the configuration is right then.

    A value that is no TOML is a text. Raises UsageError, ConfigError: the file stays as it was.
    """
    if key in configuration.NO_SETTINGS:
        raise UsageError(
            f"`{key}` is no longer a setting: {configuration.NO_SETTINGS[key]}",
            hint="docs/reference/configuration.md lists every key",
        )
    table, dot, name = key.partition(".")
    if not dot or "." in name or table not in configuration.SECTIONS:
        raise UsageError(
            f"`{key}` is not a key that `config set` can write",
            hint="write TABLE.KEY, such as `embedding.kind`; `config edit` changes all others",
        )
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    try:
        text = with_table(before, table, {name: _parsed(value)})
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"`{file}` is not valid TOML: {error}",
            hint="correct it first: `vault-memory config edit`",
        ) from None
    # Fault: a wrong value would keep every later command from starting. A variable of the
    # environment could hide it, so none is read.
    trial = file.with_name(f"{file.name}.trial")
    state_file.write(trial, text)
    try:
        configuration.load(trial, {})
    except ConfigError as error:
        raise ConfigError(
            error.message.replace(str(trial), str(file)),
            hint="nothing was changed; docs/reference/configuration.md lists every key",
        ) from None
    finally:
        trial.unlink()
    state_file.write(file, text, durable=True)


def _parsed(value: str) -> object:
    """Return a value in TOML; any other text as it is."""
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        # A word without quotes is what people type on a command line.
        return value
