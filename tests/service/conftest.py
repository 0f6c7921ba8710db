"""A vault seen from outside for the tests of one, and a folder of vaults for those of many."""

from pathlib import Path

import pytest

from tests.scenarios.outside import outside
from tests.service.many import Vaults

__all__ = ["outside", "vaults"]


@pytest.fixture
def vaults(tmp_path: Path) -> Vaults:
    """An empty folder of vaults."""
    vaults = Vaults(tmp_path)
    vaults.path.mkdir()
    return vaults
