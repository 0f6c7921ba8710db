"""A vault with notes of two people, to which a test adds documents."""

from collections.abc import Iterator

import pytest

from tests.scenarios.outside import Outside, outside
from vault_memory.api.vault_memory import VaultMemory

__all__ = ["memory", "outside", "vault"]

MIRA, ALEX = "Users/mira/memories", "Users/alex/memories"


@pytest.fixture
def vault(outside: Outside) -> Outside:
    """Commands run in the process of the test."""
    outside.quick = True
    outside.write(f"{MIRA}/2026-01-03.md", "- the ferry was late\n")
    outside.write(f"{ALEX}/2026-01-03.md", "- the ferry was early\n")
    return outside


@pytest.fixture
def memory(vault: Outside) -> Iterator[VaultMemory]:
    with VaultMemory.open(vault.vault, environment=vault.environment) as memory:
        yield memory
