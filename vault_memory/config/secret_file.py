"""Reads files with a secret: passwords, keys and tokens.

The file of a secret is outside the vault, which is synced and visible to bots. It belongs to the
user, is closed to all other accounts, and contains one short text.
"""

import os
import stat
from pathlib import Path

from vault_memory.errors import ConfigError, VaultMemoryError

MAX_BYTES = 4096
"""Maximum size of the file of a secret"""


def read_secret(
    path: Path,
    vault: Path | None,
    *,
    name: str,
    setting: str,
    error: type[VaultMemoryError] = ConfigError,
    hint: str = "",
) -> str:
    """Return the text of the file that a configuration key names.

    `name` is the word for the file in messages, `setting` the key. `vault` is the folder that
    must not hold the file; None where no vault is known. Raises `error`, which never repeats the
    secret.
    """
    title = f"the {name} `{path}`"
    see = hint or f"correct `{setting}` in the configuration"
    try:
        path = path.expanduser()
    except RuntimeError:
        raise error(f"{title} cannot be read: there is no such home folder", hint=see) from None
    _refuse_in_vault(path, vault, title, error)
    descriptor = _open(path, title, see, error)
    try:
        # Fault: between a check of the path and the read, another file may take the
        # name. The open file is checked.
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise error(f"{title} is not a file", hint=see)
        # Fault: its owner could put another token into it, and open the vault with
        # that.
        if status.st_uid not in (0, os.getuid()):
            raise error(f"{title} belongs to another user", hint="copy it to a file of your own")
        if status.st_mode & 0o077:
            raise error(f"{title} can be read by others", hint=f"run `chmod 600 {path}`")
        return _text(descriptor, title, see, error)
    finally:
        os.close(descriptor)


def read_credential(
    path: Path, vault: Path | None, *, name: str, error: type[VaultMemoryError] = ConfigError
) -> str:
    """Return the text of a file that the service manager hands over.

    The service manager decides who owns and reads it, so neither is checked. Raises `error`.
    """
    title = f"the {name} `{path}`"
    see = "correct `LoadCredential=` of the service"
    _refuse_in_vault(path, vault, title, error)
    descriptor = _open(path, title, see, error)
    try:
        return _text(descriptor, title, see, error)
    finally:
        os.close(descriptor)


def _refuse_in_vault(
    path: Path, vault: Path | None, title: str, error: type[VaultMemoryError]
) -> None:
    """Refuse a path below the vault, before and after its links are followed.

    A link in the vault that leads out of it is refused too: sync and bots see the link.
    """
    if vault is None or "\0" in str(path):
        return
    roots = {os.path.abspath(vault), os.path.realpath(vault)}
    # Fault: sync uploads what is in the vault, and bots read it. A link out of the
    # vault shows where the secret is.
    places = (os.path.abspath(path), os.path.realpath(path))
    if any(place.startswith(os.path.join(root, "")) for place in places for root in roots):
        raise error(f"{title} is in the vault, which is synced", hint="move it out of the vault")


def _open(path: Path, title: str, see: str, error: type[VaultMemoryError]) -> int:
    try:
        # Fault: a named pipe under this path would block the program for ever.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as trouble:
        reason = trouble.strerror
    except ValueError:
        reason = "its name cannot be that of a file"
    raise error(f"{title} cannot be read: {reason}", hint=see)


def _text(descriptor: int, title: str, see: str, error: type[VaultMemoryError]) -> str:
    try:
        raw = os.read(descriptor, MAX_BYTES + 1)
    except OSError as trouble:
        raise error(f"{title} cannot be read: {trouble.strerror}", hint=see) from None
    if len(raw) > MAX_BYTES:
        raise error(
            f"{title} is longer than {MAX_BYTES} bytes",
            hint=f"write only the secret into it, on one line; or {see}",
        )
    if not raw.strip():
        raise error(f"{title} is empty", hint=see)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # Fault (H126): the message of UnicodeDecodeError would contain the secret.
        pass
    raise error(f"{title} cannot be read: it is not text", hint=see)
