"""Creates vaults, with or without example notes."""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from vault_memory import places
from vault_memory.errors import VaultError, VaultUnreachable
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, ensure_marker, read_marker
from vault_memory.vault.state_dir import StateFolder, claim, mark, state_root


def sample_vault() -> Path:
    """Return the folder of the example notes. Raises VaultError when it is not installed."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "sample_vault", package.parent / "sample_vault"):
        if place.is_dir():
            return place
    raise VaultError(
        "the example notes are not installed",
        hint="install the package again, or use `init --empty`",
    )


def make_vault(root: Path, environment: Mapping[str, str], *, empty: bool) -> int:
    """Make `root` a vault, and return the number of files written beside the marker.

    Only a folder without files gets example notes. Raises VaultError.
    """
    parent = Path(os.path.abspath(root)).parent
    # Fault: a mistyped path would become a row of new folders with a vault at its end.
    if not parent.is_dir():
        raise VaultUnreachable(
            f"the folder `{parent}` does not exist, so no vault can be made in it",
            hint=f"correct the path, or make the folder first: `mkdir -p {shlex.quote(str(parent))}`",
        )
    try:
        root.mkdir(exist_ok=True)
        has_files = any(root.iterdir())
    except OSError as error:
        raise VaultError(
            f"a vault cannot be created at `{root}`: {error.strerror}", hint="choose another folder"
        ) from None
    if not has_files and not empty:
        shutil.copytree(sample_vault(), root, dirs_exist_ok=True)
    mark(root, environment)
    return 0 if has_files else _count_files(root)


def _count_files(root: Path) -> int:
    files = [path for path in root.rglob("*") if path.is_file()]
    return sum(path.name != MARKER for path in files)


def settle_copy(
    root: Path, origin: Literal["copied", "moved"], environment: Mapping[str, str]
) -> Marker:
    """Settle which of two folders with the same vault id keeps it.

    A moved folder keeps the id; a copied folder gets a new one.
    """
    marker = read_marker(root)
    if marker is None:
        return mark(root, environment)
    if origin == "moved":
        state = StateFolder(state_root(environment) / marker.vault)
        places.make_private(state.path)
        claim(state, root)
        return marker
    os.unlink(root / MARKER)
    return ensure_marker(root)
