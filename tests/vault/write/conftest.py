"""A vault on the real disk, and one who writes to it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vault.write.lines import merge_lines
from vault_memory.vault.write.writer import Writer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A vault with one note, which was left alone for a while."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "USER.md").write_bytes(b"a\nb\n")
    return folder


@pytest.fixture
def writer(root: Path, tmp_path: Path) -> Iterator[Writer]:
    """Its journal lies beside the vault."""
    one = Writer.open(root, tmp_path / "state", merge_lines)
    yield one
    one.close()


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """New files may be read by all."""
    before = os.umask(0o022)
    yield
    os.umask(before)
