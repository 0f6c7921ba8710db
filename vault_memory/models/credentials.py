"""Where a key for a server comes from: a file of its owner's alone, the service manager, or the environment.

And to which address it may go.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from vault_memory.config.secret_file import read_credential, read_secret
from vault_memory.errors import BrainUnavailable, EmbedderUnavailable, VaultMemoryError
from vault_memory.models.http_client import is_private


@dataclass(frozen=True, slots=True)
class CredentialSpec:
    """What a key is for, and where it may lie."""

    server: str
    """for people"""
    section: str
    """of the configuration"""
    variable: str
    credential: str
    """the name of the credential under ``$CREDENTIALS_DIRECTORY``"""
    error: type[VaultMemoryError]


EMBEDDING = CredentialSpec(
    "the embedding server",
    "embedding",
    "VAULT_MEMORY_EMBEDDING_API_KEY",
    "embedding_api_key",
    EmbedderUnavailable,
)
BRAIN = CredentialSpec(
    "the language model's server",
    "brain",
    "VAULT_MEMORY_BRAIN_API_KEY",
    "brain_api_key",
    BrainUnavailable,
)


def api_key(
    file: str, lock: CredentialSpec = EMBEDDING, *, vault: Path | None = None
) -> str:
    """Return the key, or nothing when none is set: many servers in the house want none.

    `vault` is the folder that must not hold the key's file.
    """
    directory = os.environ.get("CREDENTIALS_DIRECTORY", "")
    handed = Path(directory) / lock.credential
    if file:
        setting = f"{lock.section}.api_key_file"
        key = read_secret(
            Path(file), vault, name="key file", setting=setting, error=lock.error
        )
    elif directory and handed.is_file():
        key = read_credential(handed, vault, name="key file", error=lock.error)
    else:
        key = os.environ.get(lock.variable, "")
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise lock.error(
            f"the key for {lock.server} has odd characters in it",
            hint="it should be one line of plain letters",
        )
    return key


def endpoint(base: str, tail: str, lock: CredentialSpec) -> str:
    """Where to post to: ``https://host`` and ``https://host/v1`` mean the same."""
    setting, parts = f"{lock.section}.base_url", urlsplit(base.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise lock.error(
            f"`{setting}` is no address of a server",
            hint="for example `http://localhost:11434/v1`",
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise lock.error(
            f"`{setting}` carries more than an address",
            hint=f"leave out user, password, `?` and `#`; a key belongs into `{lock.section}.api_key_file`",
        )
    path = parts.path.rstrip("/") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path.removesuffix('/' + tail)}/{tail}"


def require_https(key: str, url: str, lock: CredentialSpec) -> None:
    """A key goes over a wire that others can read only when that is a wire of the house."""
    parts = urlsplit(url)
    if key and parts.scheme == "http" and not is_private(parts.hostname or ""):
        raise lock.error(
            f"the key for {lock.server} would travel in the clear",
            hint=f"use https:// in `{lock.section}.base_url`",
        )
