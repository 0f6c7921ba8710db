"""A vault to watch and list."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edits.conftest import desk


def furnish(root: Path) -> Path:
    """The least that is worth watching."""
    (root / "memory/sub").mkdir(parents=True)
    (root / "USER.md").write_bytes(b"# Ann\n")
    (root / "memory/boat.md").write_bytes(b"Gull\n")
    (root / "memory/sub/deep.md").write_bytes(b"deep\n")
    return root


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A small vault."""
    return furnish(tmp_path / "vault")


@pytest.fixture
def large_vault(tmp_path: Path) -> Iterator[Path]:
    """A vault to be filled with a great many things: in memory where the system offers that, to spare the disk."""
    memory = "/dev/shm"
    base = Path(tempfile.mkdtemp(dir=memory)) if os.access(memory, os.W_OK) else tmp_path
    yield furnish(base / "vault")
    if base != tmp_path:
        shutil.rmtree(base)


__all__ = ["desk"]
