"""Where a run takes place: a temporary folder with vaults and state of its own, away from the user's."""

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import vaults
from vault_memory.api.vault_memory import VaultMemory

USUAL: dict[str, str] = {}
OFF = {"VAULT_MEMORY_EMBEDDING_KIND": "off"}
ONNX = {"VAULT_MEMORY_EMBEDDING_KIND": "auto"}


@dataclass(frozen=True, slots=True)
class Place:
    """The temporary folder of a run."""

    root: Path

    def vault(self, name: str, notes: int, *, seed: int = 1) -> Path:
        """A vault of that many notes, written now unless it is there."""
        folder = self.root / name
        if not folder.exists():
            vaults.write(folder, notes, seed=seed)
        return folder

    def environment(self, embedding: dict[str, str] = OFF) -> dict[str, str]:
        """That of the user, with everything of ours put into this place; Python keeps its bytecode as usual."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("VAULT_MEMORY_") and name != "PYTHONDONTWRITEBYTECODE"
        }
        state = {
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
        }
        return {**kept, **state, **embedding}

    def open(self, vault: Path, embedding: dict[str, str] = OFF) -> VaultMemory:
        return VaultMemory.open(vault, environment=self.environment(embedding))


@contextmanager
def temporary() -> Iterator[Place]:
    """A place that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="vault-memory-bench-") as folder:
        yield Place(Path(folder))


def program() -> str:
    """The command `vault-memory` as it is installed beside this Python."""
    found = Path(sysconfig.get_path("scripts")) / "vault-memory"
    return str(found) if found.exists() else str(Path(sys.executable).parent / "vault-memory")
