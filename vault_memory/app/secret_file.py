"""A secret that lies in a file: of its owner's alone, outside the vault, which is synced and shown to bots."""

import os
import stat
from pathlib import Path

from vault_memory.errors import ConfigError

LONGEST = 4096


def secret_in(
    path: Path, root: Path, *, name: str, setting: str, error: type[ConfigError] = ConfigError, hint: str = ""
) -> str:
    """What the file says. Nobody else can read it, or put another in its place, as far as its own rights tell.

    `name` is what people call the file, `setting` the key that names it. Raises `error`, which never tells the secret.
    """
    title, see = f"the {name} `{path}`", hint or f"see `{setting}`"
    try:
        found = path.stat()
    except OSError as trouble:
        raise error(f"{title} cannot be read: {trouble.strerror}", hint=see) from None
    if not stat.S_ISREG(found.st_mode):
        raise error(f"{title} is no file", hint=f"see `{setting}`")
    if found.st_mode & 0o077:
        raise error(f"{title} can be read by others", hint=f"chmod 600 {path}")
    if found.st_uid not in (0, os.getuid()):
        raise error(f"{title} belongs to another user", hint="make it a file of your own")
    if os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), "")):
        raise error(f"{title} lies in the vault, which is synced", hint="move it out of the vault")
    return text_of(path, title, error)


def text_of(path: Path, title: str, error: type[ConfigError] = ConfigError) -> str:
    """The beginning of a file. Raises `error`."""
    try:
        with path.open(encoding="utf-8") as stream:
            return stream.read(LONGEST)
    except OSError as trouble:
        reason = trouble.strerror
    except UnicodeDecodeError:
        reason = "it is no text"
    raise error(f"{title} cannot be read: {reason}") from None
