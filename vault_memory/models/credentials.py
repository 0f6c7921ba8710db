"""API keys for model servers: reads a key and checks the address that receives it.

A key comes from a file that only its owner can read, the service manager, or the environment.
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
    """The purpose of a key, and the places that may provide it."""

    server: str
    """The server's name for people"""
    section: str
    """The section of the configuration"""
    variable: str
    credential: str
    """The name of the file below ``$CREDENTIALS_DIRECTORY``"""
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


def api_key(file: str, lock: CredentialSpec = EMBEDDING, *, vault: Path | None = None) -> str:
    """Return the key, or "" when none is set: many local servers need none.

    `vault` is the folder that must not contain the key's file.
    Raises `lock.error` when the file is unsafe or the key is malformed.
    """
    directory = os.environ.get("CREDENTIALS_DIRECTORY", "")
    credential_file = Path(directory) / lock.credential
    if file:
        setting = f"{lock.section}.api_key_file"
        key = read_secret(Path(file), vault, name="key file", setting=setting, error=lock.error)
    elif directory and credential_file.is_file():
        key = read_credential(credential_file, vault, name="key file", error=lock.error)
    else:
        key = os.environ.get(lock.variable, "")
    key = key.strip()
    # Fault: a line break in the key would add headers to the request.
    if not (key.isascii() and key.isprintable()):
        raise lock.error(
            f"the key for {lock.server} contains characters that no key has",
            hint="store it as one line of ASCII letters, digits and signs",
        )
    return key


def endpoint(base: str, tail: str, lock: CredentialSpec) -> str:
    """Return the URL of a request; ``https://host`` and ``https://host/v1`` mean the same.

    Raises `lock.error` when `base` is not a plain server address.
    """
    setting = f"{lock.section}.base_url"
    url = urlsplit(base.strip())
    # Fault: another scheme would read a file or speak another protocol.
    if url.scheme not in ("http", "https") or not url.hostname:
        raise lock.error(
            f"`{setting}` is not the address of a server",
            hint="set an address such as `http://localhost:11434/v1`",
        )
    # Fault: a password in the address would appear in messages and logs.
    if url.username is not None or url.query or url.fragment:
        raise lock.error(
            f"`{setting}` contains more than an address",
            hint="remove user, password, `?` and `#`; "
            f"name the file of a key in `{lock.section}.api_key_file`",
        )
    path = url.path.rstrip("/") or "/v1"
    return f"{url.scheme}://{url.netloc}{path.removesuffix('/' + tail)}/{tail}"


def require_https(key: str, url: str, lock: CredentialSpec) -> None:
    """Raise `lock.error` when a key would leave the local network unencrypted."""
    address = urlsplit(url)
    # Fault: a key on an unencrypted line can be read by everyone on the way.
    if key and address.scheme == "http" and not is_private(address.hostname or ""):
        raise lock.error(
            f"the key for {lock.server} would be sent unencrypted",
            hint=f"use https:// in `{lock.section}.base_url`",
        )
