"""The settings of a vault that the page can write, as `layout` and `config set` write them."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from vault_memory import config as configuration
from vault_memory.addons.page.forms import OPEN_AGAIN
from vault_memory.addons.page.shared_answers import SetupOffer
from vault_memory.admin import config_change, layout_setup
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import LayoutSettings
from vault_memory.errors import ConfigError, UsageError
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.layout_survey import SUMMARIES, LayoutProposal, Survey, preset
from vault_memory.search.vault_layout import patterns_of

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.config.sections import Config

MEANING = {"on": "auto", "off": "off"}
"""Button of search by meaning → the kind of embedder that it writes"""

MEANING_VARIABLE = "VAULT_MEMORY_EMBEDDING_KIND"
MOST_SCOPES = 5


class LayoutRow(NamedTuple):
    """A layout, and what it would claim of the vault."""

    name: str
    summary: str
    survey: Survey
    owners: tuple[tuple[str, int], ...]
    """scopes with their files, the largest first"""
    more_owners: int
    daily: str
    exclude: tuple[str, ...]


class SetupViewer:
    """The setup of a vault. Only a session that sees and may change all of it gets one."""

    def __init__(self, memory: VaultMemory, offer: SetupOffer) -> None:
        self._memory = memory
        self.hosts = offer.hosts
        self._always = offer.always

    def is_offered(self) -> bool:
        """Return whether no layout is set, or the page was started to set one."""
        if self._always:
            return True
        report = self._memory.vault.layout_report(with_counts=False)
        # A person who wrote patterns has decided what is memory.
        has_patterns = bool(self._memory.vault.config.layout.patterns)
        return report.chosen_by != "configuration" and not has_patterns

    def layouts(self) -> list[LayoutRow]:
        """Return every layout with what it would claim, the best first."""
        vault = self._memory.vault
        paths = list(vault.folder.listing().entries)
        owner = vault.config.layout.user
        settings = self.written().layout._replace(user=owner)
        return [row_of(proposal, settings, paths) for proposal in layout_setup.proposals(vault)]

    def used(self) -> "Config":
        """Return the configuration with which the page was started."""
        return self._memory.vault.config

    def written(self) -> "Config":
        """Return the configuration as it is now. Raises ConfigError."""
        vault = self._memory.vault
        return configuration.load(vault.config_file, vault.environment)

    def meaning(self) -> str:
        """Return the kind of embedder that the file names; a variable may say otherwise."""
        return configuration.load(self._memory.vault.config_file, {}).embedding.kind

    def is_meaning_overridden(self) -> bool:
        """Return whether a variable of the environment decides instead of the file."""
        return MEANING_VARIABLE in self._memory.vault.environment

    def has_daemon(self) -> bool:
        """Return whether a daemon runs, which has read the configuration already."""
        return self._memory.vault.state.socket.exists()

    def set_layout(self, name: str) -> None:
        """Write a layout into the configuration, as `layout NAME` does. Raises ConfigError."""
        if name not in SUMMARIES:
            raise UsageError(f"there is no layout `{name}`", hint=OPEN_AGAIN)
        layout_setup.set_layout(self._memory.vault, name)

    def switch_meaning(self, state: str) -> None:
        """Switch search by meaning on or off, as `config set` does. Raises ConfigError."""
        if state not in MEANING:
            raise UsageError("the switch is `on` or `off`", hint=OPEN_AGAIN)
        config_change.set_key(self._file(), "embedding.kind", MEANING[state])

    def _file(self) -> "Path":
        file = self._memory.vault.config_file
        if file is None:
            raise ConfigError(
                "there is no configuration file to write to", hint="name one with `--config`"
            )
        return file


def row_of(proposal: LayoutProposal, settings: LayoutSettings, paths: Iterable[str]) -> LayoutRow:
    """Return a layout for a template; `settings` are those of the configuration."""
    layout = Layout(
        patterns_of(settings),
        user=settings.user,
        bot=settings.bot,
        exclude=proposal.exclude,
        preset=preset(proposal.name, proposal.daily),
    )
    owners = _owners(layout, paths)
    return LayoutRow(
        name=proposal.name,
        summary=SUMMARIES[proposal.name],
        survey=proposal.survey,
        owners=tuple(owners.most_common(MOST_SCOPES)),
        more_owners=max(0, len(owners) - MOST_SCOPES),
        daily=proposal.daily,
        exclude=proposal.exclude,
    )


def _owners(layout: Layout, paths: Iterable[str]) -> Counter[str]:
    """Count the claimed files of each scope."""
    places = (layout.place(path) for path in paths if path.endswith(MARKDOWN))
    return Counter(place.scope for place in places if place is not None)
