"""Reads the settings of Obsidian and Logseq that say where daily notes and templates are."""

import json
import os
import re
from typing import Any

from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.daily_notes import pattern_of
from vault_memory.rules.paths.layout_survey import Signs
from vault_memory.vault.reader import Folder

LARGEST = 1 << 18
"""Bytes of one file of settings"""
_DAILY = ".obsidian/daily-notes.json"
_PERIODIC = ".obsidian/plugins/periodic-notes/data.json"
_TEMPLATES = (
    (".obsidian/templates.json", "folder"),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
)
_LOGSEQ = "logseq/config.edn"
_JOURNAL_FORMAT = re.compile(r'(?m)^[^;\n]*:journal/file-name-format\s+"([^"]+)"')
_JOURNALS = re.compile(r'(?m)^[^;\n]*:journals-directory\s+"([^"]+)"')


def read_signs(folder: Folder) -> Signs:
    """Returns what the settings of other programs say about the vault. Never raises."""
    if os.path.isdir(os.path.join(folder.root, ".obsidian")):
        return Signs("obsidian", _daily_of_obsidian(folder), _templates(folder))
    config = _text(folder, _LOGSEQ)
    if config is not None:
        return Signs("logseq", _daily_of_logseq(config))
    return Signs()


def _text(folder: Folder, path: str) -> str | None:
    try:
        return folder.read(path, max_bytes=LARGEST).raw.decode("utf-8", "replace")
    except VaultMemoryError:
        # The program keeps its defaults in no file, or the file cannot be read.
        return None


def _settings(folder: Folder, path: str) -> dict[str, Any]:
    """Returns the settings of a JSON file; none when it is missing or damaged."""
    text = _text(folder, path)
    try:
        values = json.loads(text or "{}")
    except (ValueError, RecursionError):
        # Fault: a sync conflict may leave half of the file. It is no reason to stop.
        return {}
    return values if isinstance(values, dict) else {}


def _string(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _daily_of_obsidian(folder: Folder) -> str:
    values = _settings(folder, _DAILY) or _periodic(folder)
    # Without settings, the names of the notes decide: the folder of Obsidian's default is the
    # vault itself, and most people who use it have no daily notes.
    if not values:
        return ""
    return pattern_of(_string(values, "folder"), _string(values, "format"))


def _periodic(folder: Folder) -> dict[str, Any]:
    """Returns the settings of daily notes of the plugin Periodic Notes, if it is in use."""
    values = _settings(folder, _PERIODIC).get("daily")
    return values if isinstance(values, dict) and values.get("enabled") else {}


def _templates(folder: Folder) -> tuple[str, ...]:
    names = [_string(_settings(folder, path), key).strip("/ ") for path, key in _TEMPLATES]
    return tuple(name for name in dict.fromkeys(names) if name and "*" not in name)


def _daily_of_logseq(config: str) -> str:
    journals = _JOURNALS.search(config)
    name_format = _JOURNAL_FORMAT.search(config)
    # Logseq writes the letters of Java: `yyyy_MM_dd`.
    text = name_format[1] if name_format else "yyyy_MM_dd"
    text = text.replace("y", "Y").replace("d", "D")
    return pattern_of(journals[1] if journals else "journals", text)
