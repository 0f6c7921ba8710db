"""A new vault, with the example notes or without."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from vault_memory.errors import VaultError
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, ensure_marker, read_marker
from vault_memory.vault.state_dir import StateFolder, claim, state_root


def sample_vault() -> Path:
    """The example notes that come with the program."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "sample_vault", package.parent / "sample_vault"):
        if place.is_dir():
            return place
    raise VaultError(
        "the example notes are not installed",
        hint="install the package again, or use `init --empty`",
    )


def make_vault(root: Path, *, empty: bool) -> int:
    """Make `root` a vault. Only a folder with nothing in it gets example notes. Returns how many were written."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        is_bare = not any(root.iterdir())
    except OSError as error:
        raise VaultError(
            f"no vault can be made at `{root}`: {error.strerror}",
            hint="choose another place",
        ) from None
    if is_bare and not empty:
        shutil.copytree(sample_vault(), root, dirs_exist_ok=True)
    ensure_marker(root)
    return (
        sum(1 for path in root.rglob("*") if path.is_file() and path.name != MARKER)
        if is_bare
        else 0
    )


def settle_copy(
    root: Path, said: Literal["copied", "moved"], environment: Mapping[str, str]
) -> Marker:
    """Two folders carry one vault id, and the person said which this one is."""
    marker = read_marker(root)
    if marker is None:
        return ensure_marker(root)
    if said == "moved":
        state = StateFolder(state_root(environment) / marker.vault)
        state.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        claim(state, root)
        return marker
    os.unlink(root / MARKER)
    return ensure_marker(root)
