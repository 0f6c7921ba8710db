"""The vault of two people, open in this process: one to read from, and for each test that writes one of its own."""

from collections.abc import Iterator

import pytest

from tests.in_memory import tmp_path as tmp_path
from tests.mcp.vaults import fill, opened
from tests.scenarios.outside import Outside, at, outside
from vault_memory import VaultMemory

__all__ = ["outside"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VaultMemory]:
    """Only to read from."""
    place = at(tmp_path_factory.mktemp("shelf"))
    fill(place)
    with opened(place) as memory:
        yield memory


@pytest.fixture
def filled(outside: Outside) -> Outside:
    fill(outside)
    return outside


@pytest.fixture
def memory(filled: Outside) -> Iterator[VaultMemory]:
    """To write to."""
    with opened(filled) as memory:
        yield memory
