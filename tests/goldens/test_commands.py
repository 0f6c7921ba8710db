"""Every command prints what it printed before, ends with the same exit code, and leaves the same files."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.goldens.stored import check
from tests.goldens.transcripts import GOLDENS

MEMORY = Path("/dev/shm")
"""Where files cost no disk"""


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.sampled
@pytest.mark.parametrize("name", GOLDENS)
def test_each_command_matches_its_golden_output(name: str, folder: Path) -> None:
    check(name, GOLDENS[name](folder))
