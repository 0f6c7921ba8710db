"""The record of what a host has adopted on this machine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vault_memory.config import state_file

FOLDER = "adopted"
"""In the state folder: a file for each host"""


class Adopted:
    """What a host has adopted. `state` is the vault's state folder."""

    def __init__(self, state: Path, host: str) -> None:
        self._file = state / FOLDER / f"{host}.json"
        content = state_file.read_json(self._file)
        content = content if isinstance(content, dict) else {}
        self.settings: dict[str, Mapping[str, Any]] = dict(content.get("settings", {}))
        """A file of the host → the key that is set there, the folder, and the project"""
        self.files: dict[str, list[str]] = dict(content.get("files", {}))
        """A file of the host → its note, and the revision that both had"""
        self.exchanged: dict[str, Mapping[str, Any]] = dict(content.get("exchanged", {}))
        """A folder of the host → the folder in the vault, and the patterns of its notes"""

    def save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = {"settings": self.settings, "files": self.files, "exchanged": self.exchanged}
        state_file.write(self._file, json.dumps(content, indent=2))
