"""A connector of a copy of the sample vault."""

from collections.abc import Iterator

import pytest

from tests.addons.connector.connected import Connected, connected
from tests.http.conftest import memory
from tests.scenarios.outside import outside
from vault_memory.api.vault_memory import VaultMemory

__all__ = ["memory", "outside"]


@pytest.fixture
def server(memory: VaultMemory) -> Iterator[Connected]:
    """A server that programs outside reach."""
    with connected(memory) as found:
        yield found
