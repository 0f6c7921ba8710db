"""The layout of one vault: from the configuration, else chosen when the vault is first read.

A chosen layout is kept in the state folder, so that it stays the same while the vault grows.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.config.sections import LayoutSettings
from vault_memory.rules.paths import globs, layout_survey
from vault_memory.rules.paths.layout import Layout, Pattern
from vault_memory.rules.paths.layout_survey import LayoutProposal, Survey
from vault_memory.rules.paths.presets import preset
from vault_memory.vault.layout_signs import read_signs
from vault_memory.vault.reader import Folder
from vault_memory.vault.state_dir import StateFolder

Origin = Literal["configuration", "program", "default"]


@dataclass(frozen=True, slots=True)
class LayoutReport:
    """The layout of a vault, and how much it claims."""

    name: str
    """empty: the built-in patterns, of which no layout was chosen"""
    chosen_by: Origin
    daily: str
    exclude: tuple[str, ...]
    survey: Survey
    remark: str
    """about a configuration file in the vault, which is not read; "" without one"""


def patterns_of(settings: LayoutSettings) -> list[Pattern]:
    """Returns the configured patterns."""
    return [
        Pattern(pattern.path, pattern.kind, pattern.scope)
        for pattern in settings.patterns
    ]


def layout_of(settings: LayoutSettings) -> Layout:
    """Returns the layout that these settings describe. Raises ConfigError."""
    return Layout(
        patterns_of(settings),
        user=settings.user,
        bot=settings.bot,
        exclude=settings.exclude,
        preset=preset(settings.name, settings.daily),
    )


def settle(
    settings: LayoutSettings,
    folder: Path,
    state: StateFolder,
) -> LayoutSettings:
    """Returns the settings with the chosen layout, where the configuration names none.

    A vault that was not read yet gets the layout that fits best, if the built-in patterns claim
    none of its Markdown files.
    """
    chosen = _stored(state)
    # With an index, the vault was read before, and a person may rely on its layout.
    if chosen is None and not state.index_folder.exists():
        chosen = choose(settings, Folder(folder), state)
    if chosen is None:
        return settings
    # What a person excludes stays excluded, whatever the layout says.
    exclude = tuple(dict.fromkeys((*settings.exclude, *chosen.exclude)))
    return settings._replace(
        name=chosen.name,
        daily=settings.daily or chosen.daily,
        exclude=exclude[: max(globs.MOST_GLOBS, len(settings.exclude))],
    )


def _stored(state: StateFolder) -> LayoutSettings | None:
    """Returns the layout that the program chose; None when the file is missing or damaged."""
    values = state_file.read_json(state.layout_file)
    try:
        name, daily, exclude = values["name"], values["daily"], values["exclude"]
        return LayoutSettings(
            name=name, daily=str(daily), exclude=tuple(map(str, exclude))
        )
    except (TypeError, KeyError):
        # Fault: a person may edit or damage any file of the state folder.
        return None


def choose(
    settings: LayoutSettings,
    folder: Folder,
    state: StateFolder,
) -> LayoutSettings | None:
    """Chooses a layout and stores it; None when the configured patterns claim a file."""
    # A person who wrote patterns has decided what is memory.
    if settings.patterns:
        return None
    paths = list(folder.listing().entries)
    survey = layout_survey.survey(paths, layout_of(settings))
    if survey.claimed or not survey.unclaimed:
        return None
    # Fault: chosen anew for each command, the layout would change while the vault grows.
    best = propose(paths, settings, folder)[0]
    values = {"name": best.name, "daily": best.daily, "exclude": best.exclude}
    state_file.write(state.layout_file, json.dumps(values) + "\n")
    return _stored(state)


def propose(
    paths: Sequence[str],
    settings: LayoutSettings,
    folder: Folder,
) -> list[LayoutProposal]:
    """Returns every layout with what it would claim, the best first."""
    return layout_survey.proposals(
        paths,
        read_signs(folder),
        patterns_of(settings),
        user=settings.user,
        bot=settings.bot,
        exclude=settings.exclude,
    )


def report(
    settings: LayoutSettings,
    layout: Layout,
    paths: Iterable[str],
    root: Path,
    state: StateFolder,
) -> LayoutReport:
    """Returns the layout of a vault, and how many of the Markdown files at `paths` it claims."""
    chosen_by: Origin = "configuration" if settings.name else "default"
    stored = _stored(state)
    if stored is not None and stored.name == settings.name:
        chosen_by = "program"
    return LayoutReport(
        settings.name,
        chosen_by,
        settings.daily,
        settings.exclude,
        layout_survey.survey(paths, layout),
        _remark(root, state),
    )


def _remark(
    root: Path,
    state: StateFolder,
) -> str:
    # Fault (H124): all who may write to a shared vault could open the notes of others with a
    # pattern in it. So the file is reported, and not read.
    if not (root / places.CONFIG).exists():
        return ""
    return (
        f"`{places.CONFIG}` in the vault is not read:"
        f" move it to {state.config_file}, or name it with `--config`"
    )
