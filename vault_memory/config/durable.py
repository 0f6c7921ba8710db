"""Makes renames durable: a rename survives a power failure only after its folder is synced."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, as `fsync` does for the bytes of a file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Fault (B35): the bytes of a file may be on the disk while its new name is not.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
