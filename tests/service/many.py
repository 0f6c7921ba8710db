"""Writes folders of vaults, each with a person, a note with a word of its own, and a token."""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.settled_marker import settle_marker
from vault_memory.vault.marker import ensure_marker

NOTE = "Users/mira/memories/harbour.md"
WORDS = {"north": "albatross", "south": "bittern", "west": "cormorant"}


@dataclass(frozen=True)
class Vaults:
    """A folder of vaults with its state folders, in a folder of a test."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "people"

    @property
    def environment(self) -> dict[str, str]:
        outside = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("VAULT_MEMORY_")
        }
        return {
            **outside,
            "VAULT_MEMORY_STATE": str(self.folder / "state"),
            "VAULT_MEMORY_CACHE": str(self.folder / "cache"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
        }

    def add(self, name: str, word: str = "") -> Path:
        """Writes a vault with one note."""
        root = self.path / name
        note = root / NOTE
        note.parent.mkdir(parents=True)
        text = word or WORDS.get(name, name)
        note.write_text(f"# Harbour\n\n- The ferry carries the {text}\n")
        (root / "Users/mira/lantern/config").mkdir(parents=True)
        settle_marker(root)
        return root

    def add_three(self) -> None:
        """Writes three vaults with a token for each."""
        for name in WORDS:
            self.add(name)
            self.set_token(name)

    def vault_of(self, name: str) -> str:
        """The id in the marker of a vault."""
        return ensure_marker(self.path / name).vault

    def config_file(self, name: str) -> Path:
        return self.folder / "state" / self.vault_of(name) / "vault-memory.toml"

    def configure(self, name: str, text: str) -> None:
        """Writes the configuration of a vault."""
        file = self.config_file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def set_token(self, name: str, token: str = "", more: str = "") -> str:
        """Gives Mira in a vault a token."""
        token = token or token_of(name)
        file = self.folder / f"{name.replace('/', '-')}.token"
        file.touch(0o600)
        file.write_text(token + "\n")
        self.configure(name, f'{more}\n[[serve.tokens]]\nuser = "mira"\ntoken_file = "{file}"\n')
        return token


def token_of(name: str) -> str:
    """The token that `set_token` makes by itself."""
    return f"{name.replace('/', '-')}-" + "t" * 40
