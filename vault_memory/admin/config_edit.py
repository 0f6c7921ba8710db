"""Changes one key of the configuration of a vault, and keeps all other lines."""

import tomllib
from pathlib import Path

from vault_memory import config as configuration
from vault_memory.config import state_file
from vault_memory.config.toml_edit import with_table
from vault_memory.errors import ConfigError, UsageError


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
