"""The layout of one vault: from the configuration, else chosen when the vault is first read.

It is kept in the marker, so that it stays the same while the vault grows, and on every device.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from vault_memory import config as configuration
from vault_memory import places
from vault_memory.config import state_file
from vault_memory.config.sections import LayoutSettings
from vault_memory.errors import ConfigError, VaultError
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.paths import globs, layout_survey
from vault_memory.rules.paths.layout import OWNER, Layout, Pattern
from vault_memory.rules.paths.layout_survey import (
    BOT_FOLDER,
    OF_OTHER_PROGRAMS,
    LayoutProposal,
    Survey,
    preset,
)
from vault_memory.rules.paths.pattern_check import stays_apart
from vault_memory.vault.layout_signs import read_signs
from vault_memory.vault.marker import Marker, amend_if_writable
from vault_memory.vault.reader import Folder
from vault_memory.vault.state_dir import StateFolder

TOP = "."
"""The top of the vault, as the setting `bot_folder` names it"""
MADE_BY_PROGRAM = frozenset({"inbox", "episode", "reflection"})
"""Kinds of notes that no person makes"""
LARGEST_AUDIT = 1 << 24
_CHOICE = ("name", "daily", "exclude")
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
    return [Pattern(pattern.path, pattern.kind, pattern.scope) for pattern in settings.patterns]


def layout_of(settings: LayoutSettings) -> Layout:
    """Returns the layout that these settings describe. Raises ConfigError."""
    return Layout(
        patterns_of(settings),
        user=settings.user,
        bot=settings.bot,
        exclude=settings.exclude,
        preset=preset(settings.name, settings.daily)._replace(bot_folder=settings.bot_folder),
    )


class SettledLayout(NamedTuple):
    """The layout of a vault as its notes are read with it."""

    settings: LayoutSettings
    """with the layout that was chosen, and all defaults that depend on the vault"""
    table: LayoutSettings
    """what a person configured, on this device or on another one"""


class _Shared(NamedTuple):
    """The layout in the marker of a vault, which every device has, or its copy in the state folder."""

    chosen: LayoutSettings | None = None
    """the layout that the program chose; None as long as it chose none"""
    bot_folder: str | None = None
    """None as long as no device needed one"""
    table: LayoutSettings | None = None
    """the table ``[layout]`` of the device where a person last changed it"""

    def as_json(self) -> dict[str, Any]:
        """Returns the value of the marker's key ``layout``."""
        values: dict[str, Any] = {}
        if self.chosen is not None:
            values["name"] = self.chosen.name
            values["daily"] = self.chosen.daily
            values["exclude"] = [*self.chosen.exclude]
        if self.bot_folder is not None:
            values["bot_folder"] = self.bot_folder
        if self.table is not None:
            values["table"] = _table_json(self.table)
        return values


_NOTHING = _Shared()
_DEFAULTS = LayoutSettings()
_OWN_TABLE = "own_table"
"""Key of the copy in the state folder: the table that this device wrote to the marker"""


class VaultLayout:
    """The layout of one vault, in its marker, in the state folder and in the configuration."""

    def __init__(self, root: Path, state: StateFolder, marker: Marker, *, writes: bool) -> None:
        """Without `writes` the marker stays as it is, and only the state folder is written."""
        self._root, self._state, self._writes = root, state, writes
        self._in_marker = marker.layout
        copy = state_file.read_json(state.layout_file)
        self._copy: dict[str, Any] = copy if isinstance(copy, dict) else {}
        self._own: object = self._copy.get(_OWN_TABLE, {})
        # A vault that was only read has no marker yet, and a marker may be lost.
        self._shared = _read(self._copy if marker.layout is None else marker.layout)

    def settle(self, settings: LayoutSettings, *, is_own: bool) -> SettledLayout:
        """Returns the layout for these configured settings, and keeps what had to be decided.

        `is_own`: the settings are in the state folder, where no other device can read them.
        """
        if is_own:
            self._share_table(settings)
        table = settings
        if _is_default(settings) and self._shared.table is not None:
            table = self._shared.table._replace(user=settings.user)
        settled = self._with_bot_folder(self._with_choice(table))
        self._keep()
        return SettledLayout(settled, table)

    def keep_current(self, settings: LayoutSettings, folder: Folder) -> bool:
        """Keeps the layout of a vault that was in use before any was kept.

        Returns whether that is another one than before: the built-in patterns claim no note of a
        person.
        """
        if self._shared.chosen is not None or settings.name or settings.patterns:
            return False
        layout = layout_of(settings)
        survey = layout_survey.survey(_paths_of_people(folder, layout), layout)
        chosen = LayoutSettings() if survey.claimed else _choice(settings, folder)
        self._shared = self._shared._replace(chosen=chosen)
        self._keep()
        return chosen is not None and bool(chosen.name)

    def _share_table(self, settings: LayoutSettings) -> None:
        """Takes over a table that a person changed on this device since it was last written."""
        table = _table_json(settings)
        if table == self._own:
            return
        self._own = table
        shared = _apart(settings) if table else None
        self._shared = self._shared._replace(table=shared)

    def _with_choice(self, settings: LayoutSettings) -> LayoutSettings:
        """Returns the settings with the chosen layout, where the configuration names none."""
        if settings.name:
            return settings
        # With an index, the vault was read before, and a person may rely on its layout.
        if self._shared.chosen is None and not self._state.index_folder.exists():
            chosen = _choice(settings, Folder(self._root))
            self._shared = self._shared._replace(chosen=chosen)
        chosen = self._shared.chosen
        if chosen is None or not chosen.name:
            return settings
        # What a person excludes stays excluded, whatever the layout says.
        exclude = tuple(dict.fromkeys((*settings.exclude, *chosen.exclude)))
        return settings._replace(
            name=chosen.name,
            daily=settings.daily or chosen.daily,
            exclude=exclude[: max(globs.MOST_GLOBS, len(settings.exclude))],
        )

    def _with_bot_folder(self, settings: LayoutSettings) -> LayoutSettings:
        folder = settings.bot_folder.strip("/")
        if not folder:
            if settings.name not in OF_OTHER_PROGRAMS:
                return settings
            folder = self._shared.bot_folder or _bot_folder_in(self._root)
            self._shared = self._shared._replace(bot_folder=folder)
        return settings._replace(bot_folder="" if folder == TOP else folder)

    def _keep(self) -> None:
        """Writes what is new to the marker, and to its copy in the state folder."""
        values = self._shared.as_json()
        if values and values != self._in_marker and self._writes:
            # A folder that can only be read is used with the copy.
            marker = amend_if_writable(self._root, {"layout": values})
            self._in_marker = marker.layout if marker else self._in_marker
        # Fault: a table that a reading command saw first would never reach the marker.
        own = self._own if values == self._in_marker else self._copy.get(_OWN_TABLE)
        copy = {**values, _OWN_TABLE: own} if own else values
        if copy and copy != state_file.read_json(self._state.layout_file):
            state_file.write(self._state.layout_file, json.dumps(copy) + "\n")


def _read(values: Mapping[str, Any]) -> _Shared:
    """Returns the layout that a file of the vault names, without what is wrong in it.

    Everyone who may write to a shared vault may write this file.
    """
    chosen = None
    if "name" in values:
        chosen = _checked({key: values[key] for key in _CHOICE if key in values})
    table = _checked(values["table"]) if "table" in values else None
    folder = values.get("bot_folder")
    if isinstance(folder, str) and folder:
        checked = _checked({"bot_folder": folder})
        folder = checked.bot_folder if checked else None
    else:
        folder = None
    return _Shared(chosen, folder, table)


def _checked(table: object) -> LayoutSettings | None:
    """Returns the settings of a table, without patterns for the notes of others; None when it is wrong."""
    settings = configuration.layout_of_table(table)
    if settings is None:
        return None
    settings = _apart(settings)
    try:
        folder = "" if settings.bot_folder == TOP else settings.bot_folder.strip("/")
        layout_of(settings._replace(bot_folder=folder))
    except ConfigError:
        return None
    return settings


def _apart(settings: LayoutSettings) -> LayoutSettings:
    """Returns settings without the patterns that claim notes in the folders of people."""
    # Fault (H124): all who may write to a shared vault could open the notes of others with a
    # pattern in the marker.
    daily = settings.daily
    if daily and not stays_apart(Pattern(daily, "dated", OWNER)):
        daily = ""
    patterns = [
        row for row in settings.patterns if stays_apart(Pattern(row.path, row.kind, row.scope))
    ]
    return settings._replace(user="", daily=daily, patterns=tuple(patterns))


def _is_default(settings: LayoutSettings) -> bool:
    return settings._replace(user="") == _DEFAULTS


def _table_json(settings: LayoutSettings) -> dict[str, Any]:
    """Returns the settings that a person made, as JSON has them; the owner has a place of its own."""
    values = settings._replace(user="")._asdict()
    table = {key: value for key, value in values.items() if value != getattr(_DEFAULTS, key)}
    if "exclude" in table:
        table["exclude"] = [*settings.exclude]
    if "patterns" in table:
        table["patterns"] = [row._asdict() for row in settings.patterns]
    return table


def _bot_folder_in(root: Path) -> str:
    """Returns where the files of the bot are in a vault: the top, if they are there already."""
    if (root / BOT_FOLDER / "USER.md").exists():
        return BOT_FOLDER
    # Fault: an earlier version wrote them to the top. Elsewhere they would be a second memory.
    names = ("USER.md", "USER.FACTS.md", "USER.INBOX.md", "RULES.md")
    has_logs = any(
        name.endswith(".jsonl")
        for folder in ("transcripts", "learning")
        for name in _names_in(root / folder)
    )
    at_top = has_logs or any((root / name).exists() for name in names)
    return TOP if at_top else BOT_FOLDER


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _choice(settings: LayoutSettings, folder: Folder) -> LayoutSettings | None:
    """Returns the layout that fits best; None while nothing says which one it is."""
    # A person who wrote patterns has decided what is memory.
    if settings.patterns or settings.name:
        return None
    layout = layout_of(settings)
    paths = _paths_of_people(folder, layout)
    survey = layout_survey.survey(paths, layout)
    # A program leaves its settings in a vault before the first note is there.
    has_program = bool(read_signs(folder).program)
    is_empty = not survey.claimed and not survey.unclaimed
    if is_empty and has_program:
        return _settings_of(propose(paths, settings, folder)[0])
    if survey.claims_most(layout_survey.count_instructions(paths)):
        return LayoutSettings() if survey.claimed else None
    best = propose(paths, settings, folder)[0]
    # Fault: notes beside those of a person are left alone in every layout.
    if best.survey.claimed <= survey.claimed:
        return LayoutSettings()
    return _settings_of(best)


def _settings_of(proposal: LayoutProposal) -> LayoutSettings | None:
    values = {key: getattr(proposal, key) for key in _CHOICE}
    return configuration.layout_of_table({**values, "exclude": [*proposal.exclude]})


def _paths_of_people(folder: Folder, layout: Layout) -> list[str]:
    """Returns the files of a vault without the notes that the program made."""
    paths = list(folder.listing().entries)
    # Fault: what the program wrote into a vault of another program would make its notes no
    # memory on the next device.
    own = _own_notes(paths, layout, folder)
    return [path for path in paths if path not in own]


def _own_notes(paths: Sequence[str], layout: Layout, folder: Folder) -> frozenset[str]:
    """Returns the notes that the program made: their audit logs begin before there was a text."""
    own = set()
    for path in paths:
        place = layout.place(path)
        if place is None:
            continue
        if place.kind in MADE_BY_PROGRAM:
            own.add(path)
        elif place.kind == "audit" and _begins_with_nothing(path, folder):
            own.add(path[: path.rindex(".audit.")])
    return frozenset(own)


def _begins_with_nothing(path: str, folder: Folder) -> bool:
    """Whether a record of an audit log made its note."""
    try:
        raw = folder.read(path, max_bytes=LARGEST_AUDIT).raw
    except VaultError:
        return False
    return any(map(_is_beginning, map(read_line, raw.splitlines())))


def _is_beginning(record: Record | None) -> bool:
    if record is None or record.before or not record.applied:
        return False
    # A record from which something was taken out does not say what was there before.
    return not (record.redacted or record.folded)


def propose(paths: Sequence[str], settings: LayoutSettings, folder: Folder) -> list[LayoutProposal]:
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
    settled: SettledLayout, layout: Layout, paths: Iterable[str], root: Path, state: StateFolder
) -> LayoutReport:
    """Returns the layout of a vault, and how many of the Markdown files at `paths` it claims."""
    settings = settled.settings
    chosen_by: Origin = "program" if settings.name else "default"
    if settled.table.name:
        chosen_by = "configuration"
    return LayoutReport(
        settings.name,
        chosen_by,
        settings.daily,
        settings.exclude,
        layout_survey.survey(paths, layout),
        _remark(root, state),
    )


def _remark(root: Path, state: StateFolder) -> str:
    # Fault (H124): all who may write to a shared vault could open the notes of others with a
    # pattern in it. So the file is reported, and not read.
    if not (root / places.CONFIG).exists():
        return ""
    return (
        f"`{places.CONFIG}` in the vault is not read:"
        f" move it to {state.config_file}, or name it with `--config`"
    )
