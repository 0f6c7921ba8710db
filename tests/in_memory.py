"""A folder in memory for tests that are about calls and their order, not about the disk."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
LEAST_BYTES = 1 << 30
"""Containers often give it 64 MB, which is too little"""


def has_room() -> bool:
    return MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > LEAST_BYTES


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Yields an empty folder, and removes it."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if has_room() else None)).resolve()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """As pytest's own, without the time that a disk takes to make each write durable."""
    with folder_in_memory() as folder:
        yield folder
