"""What a bot is told names no folder of the machine: not in an error, not in the reason why something is off."""

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
    """The same value of JSON with none of these folders in it."""
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(folder, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {name: hidden(part, folders) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(part, folders) for part in value]
    return value


def without_paths(text: str, folders: list[str]) -> str:
    """The text with no absolute path in it, of whatever folder."""
    return _PATH.sub(HIDDEN, str(hidden(text, folders)))
