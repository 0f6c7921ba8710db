"""Shows which files of a vault are memory, and sets its layout. Never touches a note."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vault_memory import config as configuration
from vault_memory.config import state_file
from vault_memory.config.toml_edit import with_table
from vault_memory.errors import ConfigError
from vault_memory.rules.paths.layout_survey import LayoutProposal
from vault_memory.search import vault_layout
from vault_memory.search.open_vault import OpenVault

TABLE = "layout"


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """The configuration after a change of the layout."""

    file: Path
    backup: Path | None
    """the file before the change; None when there was no file"""


def proposals(vault: OpenVault) -> list[LayoutProposal]:
    """Returns every layout with what it would claim of this vault, the best first."""
    paths = list(vault.folder.listing().entries)
    return vault_layout.propose(paths, _file_settings(vault), vault.folder)


def set_layout(
    vault: OpenVault,
    name: str,
) -> LayoutChange:
    """Writes a layout with the settings that fit this vault into the configuration.

    A copy of the file from before stays beside it. The vault has to be opened again. Raises
    ConfigError.
    """
    file = vault.config_file
    if file is None:
        raise ConfigError(
            "there is no configuration file to write to",
            hint="name one with `--config`",
        )
    proposal = next(row for row in proposals(vault) if row.name == name)
    values = {"name": name, "daily": proposal.daily, "exclude": [*proposal.exclude]}
    raw = file.read_bytes() if file.exists() else b""
    text = with_table(raw.decode("utf-8"), TABLE, values)
    backup = None
    if raw:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        backup = file.with_name(f"{file.name}.{stamp}.bak")
        state_file.write(backup, raw.decode("utf-8"), durable=True)
    state_file.write(file, text, durable=True)
    # The configuration decides from now on.
    vault.state.layout_file.unlink(missing_ok=True)
    return LayoutChange(file, backup)


def _file_settings(vault: OpenVault) -> configuration.LayoutSettings:
    """Returns the settings of the file, without the layout that the program chose."""
    if vault.config_file is None:
        return vault.config.layout
    return configuration.load(vault.config_file, vault.environment).layout
