"""Names a socket in a way that is short enough for the system, however long its path is."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_NAME = 100
"""Bytes; the limit of Linux for socket names is 107, that of macOS 103"""
_SHORT = "/tmp"
"""On macOS the folder for temporary files has a long name too"""


@contextmanager
def short_name(path: str | os.PathLike[str]) -> Iterator[str]:
    """Gives a name for the socket at `path` that is valid within this."""
    if len(os.fsencode(path)) <= LONGEST_NAME:
        yield os.fspath(path)
        return
    folder, _, name = os.fspath(path).rpartition("/")
    shorten = _by_descriptor if sys.platform == "linux" else _by_link
    with shorten(folder or "/") as short:
        yield f"{short}/{name}"


@contextmanager
def _by_descriptor(folder: str) -> Iterator[str]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


@contextmanager
def _by_link(folder: str) -> Iterator[str]:
    """Names the folder by a link, where the system has no names for descriptors."""
    # Fault: another user of the computer could plant a link to a socket of theirs. Nobody
    # else can write to this folder.
    with tempfile.TemporaryDirectory(prefix="vm-", dir=_SHORT) as own:
        link = Path(own) / "s"
        link.symlink_to(os.path.abspath(folder))
        yield str(link)
