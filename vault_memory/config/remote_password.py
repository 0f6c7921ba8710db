"""Where the password of the remote comes from: a file of its owner's alone, the service manager, or the environment.

Never from the vault, the address, the configuration or the command line.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from vault_memory.config.secret_file import read_credential, read_secret
from vault_memory.config.sections import Remote
from vault_memory.errors import ConfigError

VARIABLE = "VAULT_MEMORY_REMOTE_PASSWORD"
CREDENTIAL = "vault-memory-remote"
"""The name of the credential under ``$CREDENTIALS_DIRECTORY``"""
FILE = "remote-password"
"""In the state folder, where `remote add` stores it"""


class PasswordUnsafe(ConfigError):
    """The password of the remote is not to be had, or lies where others can read it."""


def password_of(remote: Remote, environment: Mapping[str, str], root: Path) -> str:
    """The password, or nothing when none is set. Raises PasswordUnsafe."""
    directory = environment.get("CREDENTIALS_DIRECTORY", "")
    handed = Path(directory) / CREDENTIAL
    if remote.password_file:
        password = read_secret(
            Path(remote.password_file),
            root,
            name="password file",
            setting="remote.password_file",
            error=PasswordUnsafe,
            hint="see `remote.password_file`, or store it anew with `vault-memory remote add`",
        )
    elif directory and handed.is_file():
        password = read_credential(
            handed, root, name="password file", error=PasswordUnsafe
        )
    else:
        password = environment.get(VARIABLE, "")
    password = password.rstrip("\r\n")
    if not password.isprintable():
        raise PasswordUnsafe(
            "the password of the remote has odd characters in it",
            hint="it should be one line and nothing else",
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
