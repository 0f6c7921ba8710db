"""The marker of a vault as `init` leaves it."""

from pathlib import Path

from vault_memory.search.open_vault import BUILT_IN
from vault_memory.vault.marker import amend_marker, ensure_marker


def settle_marker(root: Path, vault: str = "") -> None:
    """Write the marker, of a vault with this id or a new one.

    The first opening of a vault writes the layout into a marker that has none.
    """
    ensure_marker(root, vault)
    amend_marker(root, {"layout": BUILT_IN})
