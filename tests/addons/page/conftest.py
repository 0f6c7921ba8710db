"""The page of a copy of the sample vault: one for tests that read, one for each that writes."""

from collections.abc import Iterator

import pytest

from tests.addons.page.served_page import ServedPage, serving_page
from tests.http.conftest import memory, sample
from tests.scenarios.outside import outside
from vault_memory.api.vault_memory import VaultMemory

__all__ = ["memory", "outside", "sample"]


@pytest.fixture(scope="module")
def page(sample: VaultMemory) -> Iterator[ServedPage]:
    """For tests that only read."""
    with serving_page(sample) as served:
        yield served


@pytest.fixture
def own_page(memory: VaultMemory) -> Iterator[ServedPage]:
    """For tests that write."""
    with serving_page(memory) as served:
        yield served
