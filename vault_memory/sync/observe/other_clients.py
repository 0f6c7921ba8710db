"""Detects another program that already syncs the folder of the vault, e.g. a desktop client."""

import fnmatch
import os
from pathlib import Path

from vault_memory.sync.sync_errors import AnotherClient

CLIENTS = (
    (".sync_*.db", "the Nextcloud client"),
    ("._sync_*.db", "the Nextcloud client"),
    (".owncloudsync.log", "the ownCloud client"),
    (".nextcloudsync.log", "the Nextcloud client"),
    (".stfolder", "Syncthing"),
    (".dropbox", "Dropbox"),
)
"""Pattern of the files that a program leaves in the folders it syncs, and the program"""


def refuse_other_clients(root: Path) -> None:
    """Raise AnotherClient when another program syncs this folder or one above it."""
    root = root.resolve()
    # Fault (D80): two programs that sync one folder upload each other's downloads
    # without end. A client may sync any folder above.
    for folder in (root, *root.parents):
        try:
            names = [name for name in os.listdir(folder) if name.startswith(".")]
        except OSError:
            continue  # a folder that cannot be listed shows no traces
        for pattern, client in CLIENTS:
            traces = fnmatch.filter(names, pattern)
            if traces:
                raise AnotherClient(str(folder), traces[0], client)
