"""Shows which files of a vault are memory, and sets its layout. Never touches a note."""

from vault_memory.admin.config_change import ConfigChange, change_table
from vault_memory.rules.paths.layout_survey import LayoutProposal
from vault_memory.search import vault_layout
from vault_memory.search.open_vault import OpenVault

TABLE = "layout"


def proposals(vault: OpenVault) -> list[LayoutProposal]:
    """Returns every layout with what it would claim of this vault, the best first."""
    paths = list(vault.folder.listing().entries)
    settings = vault.layout_table._replace(user=vault.config.layout.user)
    return vault_layout.propose(paths, settings, vault.folder)


def set_layout(vault: OpenVault, name: str) -> ConfigChange:
    """Writes a layout with the settings that fit this vault into the configuration.

    A copy of the file from before stays beside it. The vault has to be opened again. Raises
    ConfigError.
    """
    proposal = next(row for row in proposals(vault) if row.name == name)
    values = {"name": name, "daily": proposal.daily, "exclude": [*proposal.exclude]}
    return change_table(vault, TABLE, values)
