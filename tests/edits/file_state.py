"""What a write of a file changes, and a read does not."""

import os
from pathlib import Path


def file_state(path: Path) -> tuple[int, int, int, int]:
    """Returns inode, size, and the times of the last write and change, in nanoseconds."""
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
