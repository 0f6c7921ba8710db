"""Finds the vaults below a folder: each folder with a marker, and none within another vault."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from vault_memory.errors import ConfigError, VaultUnreachable
from vault_memory.vault.listing import SUFFIXES
from vault_memory.vault.marker import NAME as MARKER

logger = logging.getLogger(__name__)

DEEPEST = 3
"""Levels below the folder of the host on which vaults are looked for"""


class VaultInVaults(ConfigError):
    """The folder of the vaults is a vault itself."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"`{folder}` is a vault, and no folder of vaults",
            hint="name the folder above it with `--vaults`",
        )


def check_folder(folder: Path) -> None:
    """Raises VaultUnreachable when the folder cannot be listed, VaultInVaults for a vault."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise VaultUnreachable(
            f"the folder of the vaults `{folder}` cannot be listed: {error.strerror}",
            hint="name an existing folder with `--vaults`",
        ) from None
    if has_marker(str(folder)):
        raise VaultInVaults(folder)


def vault_folders(folder: str) -> Iterator[str]:
    """Returns the folders of all vaults. Raises OSError when `folder` cannot be listed."""
    waiting = [(folder, 1)]
    while waiting:
        parent, depth = waiting.pop()
        try:
            children = _folders_in(parent)
        except OSError as error:
            # Fault (C57): an empty list would say that all vaults are gone.
            if parent == folder:
                raise
            logger.warning("a folder of vaults cannot be listed: %s", error)
            continue
        for child in children:
            if _may_be_vault(child):
                yield child
            elif depth < DEEPEST:
                waiting.append((child, depth + 1))


def has_marker(folder: str, *, strict: bool = False) -> bool:
    """Whether a folder has a marker, which may be damaged.

    Raises OSError with `strict` when the folder cannot be looked into.
    """
    try:
        status = os.lstat(os.path.join(folder, MARKER))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        if strict:
            raise
        return False
    return stat.S_ISREG(status.st_mode)


def _may_be_vault(folder: str) -> bool:
    """Whether a folder has a marker, or cannot be looked into."""
    try:
        return has_marker(folder, strict=True)
    except OSError:
        # Fault: a vault that nobody may read would be missing without a word. Its trouble is that
        # of its marker.
        return True


def _folders_in(parent: str) -> list[str]:
    with os.scandir(parent) as entries:
        return [
            entry.path
            for entry in entries
            # Fault: one vault behind a second name would look like two copies.
            if not _is_ignored(entry.name) and entry.is_dir(follow_symlinks=False)
        ]


def _is_ignored(name: str) -> bool:
    # The system keeps a folder on each disk that only it can read.
    return name.startswith(".") or name == "lost+found"


def has_more_notes(root: str, count: int) -> bool:
    """Whether a folder has more than so many Markdown files. It lists no more than needed."""
    notes = 0
    for _, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not _is_ignored(name)]
        notes += sum(name.endswith(SUFFIXES) for name in names)
        if notes > count:
            return True
    return False
