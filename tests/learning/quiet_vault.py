"""An empty vault without a model of any kind, in which somebody talks."""

from pathlib import Path

from vault_memory.api.vault_memory import VaultMemory


def quiet_vault(folder: Path, **settings: str) -> VaultMemory:
    """The vault in this folder, opened with these settings."""
    (folder / "vault/Users").mkdir(parents=True)
    environment = {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
        "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC",
        **settings,
    }
    return VaultMemory.open(folder / "vault", environment=environment)
