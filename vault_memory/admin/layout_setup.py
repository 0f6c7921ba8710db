"""Shows which files of a vault are memory, and sets its layout. Never touches a note."""

from vault_memory import config as configuration
from vault_memory.admin.config_change import ConfigChange, change_table
from vault_memory.rules.paths.layout_survey import LayoutProposal
from vault_memory.search import vault_layout
from vault_memory.search.open_vault import OpenVault

TABLE = "layout"


def proposals(vault: OpenVault) -> list[LayoutProposal]:
    """Returns every layout with what it would claim of this vault, the best first."""
    paths = list(vault.folder.listing().entries)
    return vault_layout.propose(paths, _file_settings(vault), vault.folder)


def set_layout(
    vault: OpenVault,
    name: str,
) -> ConfigChange:
    """Writes a layout with the settings that fit this vault into the configuration.

    A copy of the file from before stays beside it. The vault has to be opened again. Raises
    ConfigError.
    """
    proposal = next(row for row in proposals(vault) if row.name == name)
    values = {"name": name, "daily": proposal.daily, "exclude": [*proposal.exclude]}
    change = change_table(vault, TABLE, values)
    # The configuration decides from now on.
    vault.state.layout_file.unlink(missing_ok=True)
    return change


def _file_settings(vault: OpenVault) -> configuration.LayoutSettings:
    """Returns the settings of the file, without the layout that the program chose."""
    if vault.config_file is None:
        return vault.config.layout
    return configuration.load(vault.config_file, vault.environment).layout
