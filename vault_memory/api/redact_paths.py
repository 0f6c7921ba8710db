"""Removes folders of the machine from answers to a bot: from errors, and from reasons."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vault_memory.search.open_vault import OpenVault

HIDDEN = "…"
_PATH = re.compile(r"(?<![\w.:/])/(?:[^\s/`'\",;:]+/)+[^\s`'\",;:]*")


def folders_of(vault: "OpenVault") -> list[str]:
    """Return the folders of the machine that an answer could name, the longest name first."""
    folders = {
        str(vault.root),
        os.path.realpath(vault.root),
        str(vault.state.path),
        str(vault.cache),
        str(Path.home()),
    }
    # The home of a service account may be the root, which is in every path.
    folders.discard("/")
    # A folder within another comes first, or its last names would remain.
    return sorted(folders, key=len, reverse=True)


def hidden(value: Any, folders: Sequence[str]) -> Any:
    """Return a JSON value without the names of these folders."""
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(folder, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {name: hidden(item, folders) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(item, folders) for item in value]
    return value


def without_paths(text: str, folders: Sequence[str]) -> str:
    """Return a text without any absolute path."""
    return _PATH.sub(HIDDEN, str(hidden(text, folders)))
