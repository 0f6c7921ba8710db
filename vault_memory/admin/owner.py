"""The owner of a vault: the person who owns the notes at its root, as the marker says."""

import getpass
from pathlib import Path

from vault_memory.edits.people import refuse_twin
from vault_memory.errors import UsageError
from vault_memory.rules.paths.layout import Layout
from vault_memory.search.open_vault import NO_OWNER, OpenVault
from vault_memory.vault.marker import Marker, amend_marker

LEARNED = frozenset({"transcript", "ledger", "audit", "inbox"})
"""Kinds of files that show that a bot has served the owner"""


def login_name() -> str:
    """Returns the login name, as the environment or the system gives it."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        # A container may run with an id that has no name.
        name = ""
    return name if is_name(name) else "me"


def is_name(name: str) -> bool:
    """Whether a person can have this name in a vault."""
    place = Layout().place(f"Users/{name}/memories/note.md")
    return place is not None and place.scope == f"user:{name}"


def set_owner(root: Path, name: str) -> Marker | None:
    """Writes the owner into the marker of the vault at `root`. Raises UsageError, VaultError."""
    if not is_name(name):
        raise UsageError(
            f"{name!r} cannot be the name of a person",
            hint="it has to be one that a folder can have",
        )
    # Fault (H124): two names that read alike would be two people with one face.
    refuse_twin(name, root, Layout(user=NO_OWNER))
    return amend_marker(root, {"owner": name})


def has_owner(vault: OpenVault) -> bool:
    """Whether the owner was named, or a bot has served the owner without a name."""
    if vault.owner:
        return True
    scopes = {f"user:{NO_OWNER}", "group:main"}
    for path in vault.folder.listing().entries:
        place = vault.layout.place(path)
        if place is not None and place.kind in LEARNED and place.scope in scopes:
            return True
    return False
