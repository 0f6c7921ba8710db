"""Folders in memory, and the servers of the remote room."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.conftest import server_named

__all__ = ["server_named"]

MEMORY = Path("/dev/shm")
"""Where files cost no disk: a test of thousands of passes is about their order, not about the disk"""


@pytest.fixture
def base() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)
