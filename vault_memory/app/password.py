"""Where the password of the remote comes from: a file of its owner's alone, the service manager, or the environment.

Never from the vault, the address, the configuration or the command line.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from vault_memory.config import Remote
from vault_memory.errors import ConfigError

VARIABLE = "VAULT_MEMORY_REMOTE_PASSWORD"
CREDENTIAL = "vault-memory-remote"
"""The name of the credential under ``$CREDENTIALS_DIRECTORY``"""
FILE = "remote-password"
"""In the state folder, where `remote add` stores it"""
LONGEST = 4096


class PasswordUnsafe(ConfigError):
    """The password of the remote is not to be had, or lies where others can read it."""


def password_of(remote: Remote, environment: Mapping[str, str], root: Path) -> str:
    """The password, or nothing when none is set. Raises PasswordUnsafe."""
    directory = environment.get("CREDENTIALS_DIRECTORY", "")
    handed = Path(directory) / CREDENTIAL
    if remote.password_file:
        password = _owned(Path(remote.password_file).expanduser(), root)
    elif directory and handed.is_file():
        password = _text(handed)
    else:
        password = environment.get(VARIABLE, "")
    password = password.rstrip("\r\n")
    if not password.isprintable():
        raise PasswordUnsafe(
            "the password of the remote has odd characters in it", hint="it should be one line and nothing else"
        )
    if remote.user and not password:
        raise PasswordUnsafe(
            f"there is no password for `{remote.user}` on the remote",
            hint=f"`vault-memory remote add` stores one; or name a file in `remote.password_file`, or set {VARIABLE}",
        )
    return password


def keep_password(password: str, state: Path) -> Path:
    """Store it in the state folder, readable for its owner only; gives the file."""
    file, fresh = state / FILE, state / f"{FILE}.{os.urandom(6).hex()}"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(password + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(fresh, file)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return file


def forget_password(state: Path) -> None:
    """Take the stored one away."""
    (state / FILE).unlink(missing_ok=True)


def _owned(path: Path, root: Path) -> str:
    """Of a file that nobody else can read or put another in the place of, as far as its own rights tell."""
    name = f"the password file `{path}`"
    try:
        found = path.stat()
    except OSError as error:
        hint = "see `remote.password_file`, or store it anew with `vault-memory remote add`"
        raise PasswordUnsafe(f"{name} cannot be read: {error.strerror}", hint=hint) from None
    if not stat.S_ISREG(found.st_mode):
        raise PasswordUnsafe(f"{name} is no file", hint="see `remote.password_file`")
    if found.st_mode & 0o077:
        raise PasswordUnsafe(f"{name} can be read by others", hint=f"chmod 600 {path}")
    if found.st_uid not in (0, os.getuid()):
        raise PasswordUnsafe(f"{name} belongs to another user", hint="make it a file of your own")
    inside = os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))
    if inside:
        raise PasswordUnsafe(f"{name} lies in the vault, which is synced", hint="move it out of the vault")
    return _text(path)


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as stream:
            return stream.read(LONGEST)
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is no text"
    raise PasswordUnsafe(f"the password file `{path}` cannot be read: {reason}") from None
