"""What a host knows of a vault without opening it: its id, its configuration and its tokens."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vault_memory import config as configuration
from vault_memory.edits.people import refuse_twin
from vault_memory.errors import VaultMemoryError
from vault_memory.http.tokens import Tokens
from vault_memory.rules.paths.layout import Layout
from vault_memory.search.open_vault import with_owner
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import read_marker
from vault_memory.vault.state_dir import StateFolder, state_root, vaults_at

FileSignature = tuple[int, int, int] | None
"""Time of the last change of content or rights, inode and size; None without a file"""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A vault below the folder of a host."""

    root: str
    """The folder of the vault"""
    vault: str
    """The id in its marker; empty when the marker cannot be read"""
    tokens: Tokens | None = None
    """The tokens of its configuration; None when the vault cannot be served"""
    requests_per_minute: int | None = None
    """The limit of its configuration"""
    trouble: str = ""
    """Why the vault cannot be served; empty when it can"""
    files: tuple[str, ...] = ()
    """The files that decide about all this: the marker, the configuration, the tokens"""
    signature: tuple[FileSignature, ...] = ()
    """The state of `files` when they were read"""

    @property
    def name(self) -> str:
        """The folder's name, for people."""
        return os.path.basename(self.root)

    def is_current(self) -> bool:
        """Whether the files are as they were when this was read."""
        return _signature(self.files) == self.signature


def read_entry(root: str, environment: Mapping[str, str]) -> CatalogEntry:
    """Reads the marker, the configuration and the tokens of a vault. Does not raise.

    It creates nothing: the state folder may not exist yet.
    """
    files = [os.path.join(root, MARKER)]
    vault = ""
    # Fault: a file that changes while it is read would be taken for the new one.
    signatures = [_signature_of(files[0])]
    try:
        marker = read_marker(root)
        if marker is None:
            raise VaultMemoryError(f"`{root}` has no marker any more")
        vault = marker.vault
        state = StateFolder(state_root(environment) / vault)
        files.append(str(state.config_file))
        signatures.append(_signature_of(files[-1]))
        config = configuration.load(state.config_file, environment)
        for row in config.serve.tokens:
            files.append(os.path.expanduser(row.token_file))
            signatures.append(_signature_of(files[-1]))
        tokens = _load_tokens(Path(root), with_owner(config, marker))
    except (VaultMemoryError, OSError) as error:
        return CatalogEntry(
            root, vault, trouble=str(error), files=tuple(files), signature=tuple(signatures)
        )
    return CatalogEntry(
        root,
        vault,
        tokens,
        config.serve.requests_per_minute,
        files=tuple(files),
        signature=tuple(signatures),
    )


def earlier_tokens(
    root: str, vault: str, environment: Mapping[str, str]
) -> dict[str, Tokens | None]:
    """Returns the vaults that this folder was before it had the id `vault`, with their tokens."""
    states = state_root(environment)
    earlier: dict[str, Tokens | None] = {}
    for vault_id in vaults_at(os.path.realpath(root), states):
        if vault_id == vault:
            continue
        earlier[vault_id] = None
        with suppress(VaultMemoryError, OSError):
            file = StateFolder(states / vault_id).config_file
            rows = configuration.load(file, environment).serve.tokens
            earlier[vault_id] = Tokens.load(rows, root=Path(root))
    return earlier


def _load_tokens(root: Path, config: configuration.Config) -> Tokens:
    """Raises TokenUnsafe, NameTaken."""
    rows = config.serve.tokens
    tokens = Tokens.load(rows, root=root)
    layout = Layout(user=config.layout.user)
    for row in rows:
        # Fault (H124): two names that are one folder on some systems would open each
        # other's notes.
        refuse_twin(row.user, root, layout)
    return tokens


def _signature(files: tuple[str, ...]) -> tuple[FileSignature, ...]:
    return tuple(_signature_of(path) for path in files)


def _signature_of(path: str) -> FileSignature:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ctime_ns, status.st_ino, status.st_size
