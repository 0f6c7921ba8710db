"""Removes folders of the machine from answers to a bot: from errors, and from reasons."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

HIDDEN = "…"
_PATH = re.compile(r"(?<![\w.:/])/(?:[^\s/`'\",;:]+/)+[^\s`'\",;:]*")


def folders_of(memory: "VaultMemory") -> list[str]:
    """The folders of the machine that an answer could name, the longest name first."""
    folders = {
        str(memory.root),
        os.path.realpath(memory.root),
        str(memory.vault.state.path),
        str(memory.vault.semantic.cache),
    }
    return sorted({*folders, str(Path.home())} - {"/"}, key=len, reverse=True)


def hidden(value: Any, folders: list[str]) -> Any:
    """The JSON value without any of these folders."""
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(folder, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {name: hidden(item, folders) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(item, folders) for item in value]
    return value


def without_paths(text: str, folders: list[str]) -> str:
    """The text without any absolute path."""
    return _PATH.sub(HIDDEN, str(hidden(text, folders)))
