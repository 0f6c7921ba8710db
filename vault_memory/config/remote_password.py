"""Finds the password of the remote: in a file, from the service manager, or in the environment.

The password is never read from the vault, the URL, the configuration or the command line.
"""

from collections.abc import Mapping
from pathlib import Path

from vault_memory.config import state_file
from vault_memory.config.s3_settings import aws_keys_of, is_s3
from vault_memory.config.secret_file import read_credential, read_secret
from vault_memory.config.sections import RemoteSettings
from vault_memory.errors import ConfigError

VARIABLE = "VAULT_MEMORY_REMOTE_PASSWORD"
CREDENTIAL = "vault-memory-remote"
"""The name of the credential under ``$CREDENTIALS_DIRECTORY``"""
FILE = "remote-password"
"""The file in the state folder where `remote add` stores the password"""


class PasswordUnsafe(ConfigError):
    """The password of the remote is missing, or other accounts can read its file."""


def password_of(remote: RemoteSettings, environment: Mapping[str, str], root: Path) -> str:
    """Return the password; empty when neither user nor password is set. Raises PasswordUnsafe.

    For a bucket, return the AWS keys in lines. Raises KeysUnsafe.
    """
    if is_s3(remote.url):
        return aws_keys_of(remote, environment, root)
    password = _read_password(remote, environment, root).rstrip("\r\n")
    # Fault: a line break in the password would end the header, and the rest would be
    # another one.
    if not password.isprintable():
        raise PasswordUnsafe(
            "the password of the remote contains control characters",
            hint="write the password on one line, and nothing else",
        )
    if remote.user and not password:
        raise PasswordUnsafe(
            f"no password is set for `{remote.user}` on the remote",
            hint="store one with `vault-memory remote add`,"
            f" name its file in `remote.password_file`, or set {VARIABLE}",
        )
    return password


def _read_password(remote: RemoteSettings, environment: Mapping[str, str], root: Path) -> str:
    if remote.password_file:
        return read_secret(
            Path(remote.password_file),
            root,
            name="password file",
            setting="remote.password_file",
            error=PasswordUnsafe,
            hint="correct `remote.password_file`, or run `vault-memory remote add` again",
        )
    directory = environment.get("CREDENTIALS_DIRECTORY", "")
    credential = Path(directory) / CREDENTIAL
    if directory and credential.is_file():
        return read_credential(credential, root, name="password file", error=PasswordUnsafe)
    return environment.get(VARIABLE, "")


def keep_password(password: str, state: Path) -> Path:
    """Store the password in the state folder, readable only by its owner; return the file."""
    file = state / FILE
    # Fault (B36): a power loss may leave an empty file, and the server never shows an
    # app password again.
    state_file.write(file, password + "\n", durable=True)
    return file


def forget_password(state: Path) -> None:
    """Delete the stored password."""
    (state / FILE).unlink(missing_ok=True)
