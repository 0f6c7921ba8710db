"""Layouts as the page shows them: which files each would claim, and whose these are."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from vault_memory.config.sections import LayoutSettings
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.layout_survey import LayoutProposal, Survey
from vault_memory.rules.paths.presets import SUMMARIES, preset
from vault_memory.search.vault_layout import patterns_of

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


def row_of(
    proposal: LayoutProposal,
    settings: LayoutSettings,
    paths: Iterable[str],
) -> LayoutRow:
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


def _owners(
    layout: Layout,
    paths: Iterable[str],
) -> Counter[str]:
    """Count the claimed files of each scope."""
    places = (layout.place(path) for path in paths if path.endswith(MARKDOWN))
    return Counter(place.scope for place in places if place is not None)
