"""Folders of vaults for the tests of the host."""

from pathlib import Path

import pytest

from tests.hosting.many import Vaults


@pytest.fixture
def vaults(tmp_path: Path) -> Vaults:
    """An empty folder of vaults."""
    vaults = Vaults(tmp_path)
    vaults.path.mkdir()
    return vaults
