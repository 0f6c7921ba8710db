"""Where a key for a server comes from: a file of its owner's alone, the service manager, or the environment."""

import os
from pathlib import Path

from vault_memory.errors import EmbedderUnavailable

VARIABLE = "VAULT_MEMORY_EMBEDDING_API_KEY"
CREDENTIAL = "embedding_api_key"
"""The name of the credential under ``$CREDENTIALS_DIRECTORY``"""


def api_key(file: str) -> str:
    """The key, or nothing when none is set: many servers in the house want none."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY", "")
    handed = Path(directory) / CREDENTIAL
    if file:
        key = _owned(Path(file).expanduser())
    elif directory and handed.is_file():
        key = _text(handed)
    else:
        key = os.environ.get(VARIABLE, "")
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise EmbedderUnavailable(
            "the key for the embedding server has odd characters in it", hint="it should be one line of plain letters"
        )
    return key


def _owned(path: Path) -> str:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise EmbedderUnavailable(
            f"the key file `{path}` cannot be read: {error.strerror}", hint="see `embedding.api_key_file`"
        ) from None
    if os.name == "posix" and mode & 0o077:
        raise EmbedderUnavailable(f"the key file `{path}` can be read by others", hint=f"chmod 600 {path}")
    return _text(path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise EmbedderUnavailable(f"the key file `{path}` cannot be read as text") from None
