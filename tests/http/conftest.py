"""A served copy of the sample vault, one for each module that only asks, and one for each test that writes."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.http.served import Served, serving
from tests.in_memory import tmp_path as tmp_path
from vault_memory.api.vault_memory import VaultMemory


def opened(folder: Path, stack: ExitStack) -> VaultMemory:
    """The sample vault in a folder, with a state of its own; keywords only."""
    shutil.copytree(PROJECT / "sample_vault", folder / "vault")
    outside = {
        name: value for name, value in os.environ.items() if not name.startswith("VAULT_MEMORY_")
    }
    places = {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_CACHE": str(folder / "cache"),
    }
    settings = {"VAULT_MEMORY_EMBEDDING_KIND": "off"}
    return stack.enter_context(
        VaultMemory.open(folder / "vault", environment={**outside, **places, **settings})
    )


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VaultMemory]:
    """For tests that only read."""
    with ExitStack() as stack:
        yield opened(tmp_path_factory.mktemp("sample"), stack)


@pytest.fixture(scope="module")
def served(sample: VaultMemory) -> Iterator[Served]:
    """For tests that only read, over TCP, with a token for Mira and one for Tomas."""
    with serving(sample) as found:
        yield found


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    """For tests that write."""
    with ExitStack() as stack:
        yield opened(tmp_path, stack)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Starts a server as the test wants it."""
    with ExitStack() as stack:

        def start(memory: VaultMemory, *args: Any, **kwargs: Any) -> Served:
            return stack.enter_context(serving(memory, *args, **kwargs))

        yield start
