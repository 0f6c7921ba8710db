"""The settings of a home in S3: checks them, and finds the AWS keys.

The keys are never read from the vault, the URL, the configuration or the command line.
"""

import configparser
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from vault_memory.config.secret_file import read_credential, read_secret
from vault_memory.config.sections import LOOPBACK_HOSTS, RemoteSettings
from vault_memory.errors import ConfigError

CREDENTIAL = "vault-memory-remote"
"""The name of the credential under ``$CREDENTIALS_DIRECTORY``"""
_BUCKET = r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]"
_KEY_ID = "aws_access_key_id"
_SECRET = "aws_secret_access_key"
_TOKEN = "aws_session_token"


class KeysUnsafe(ConfigError):
    """The file with the AWS keys has none, or other accounts can read it."""


def is_s3(url: str) -> bool:
    """Whether an address is that of a bucket."""
    return url.lower().startswith("s3://")


def s3_problems(remote: RemoteSettings) -> list[str]:
    """Return the problems of the settings, without repeating an address: it may contain a password."""
    url = urlsplit(remote.url)
    # Fault (H126): a message with the address would show the keys.
    if "@" in url.netloc:
        return ["it contains keys; put them into `remote.credentials_file`"]
    is_bucket = re.fullmatch(_BUCKET, url.netloc) is not None
    if not is_bucket or url.query or url.fragment:
        return ["it is not the address of a folder in a bucket, `s3://bucket/folder`"]
    if remote.user or remote.password_file:
        return [
            "a bucket takes no user and password; put the AWS keys into `remote.credentials_file`"
        ]
    if remote.region and not re.fullmatch(r"[A-Za-z0-9-]{1,63}", remote.region):
        return ["`remote.region` is not the name of a region"]
    return _endpoint_problems(remote)


def _endpoint_problems(remote: RemoteSettings) -> list[str]:
    if not remote.endpoint:
        return []
    try:
        url = urlsplit(remote.endpoint)
        host = url.hostname or ""
        is_bare = url.path in ("", "/") and not url.query and not url.fragment
        url.port  # noqa: B018  # raises ValueError
    except ValueError:
        return ["`remote.endpoint` is not a URL"]
    if "@" in url.netloc:
        return ["`remote.endpoint` contains keys; put them into `remote.credentials_file`"]
    if url.scheme not in ("http", "https") or not host or not is_bare:
        return ["`remote.endpoint` is not the URL of a store, such as https://s3.example.org"]
    # Fault: on an unencrypted connection, each machine on the way reads the notes.
    if url.scheme == "http" and host not in LOOPBACK_HOSTS and not remote.allow_http:
        return [
            "http:// in `remote.endpoint` would send the notes to another machine unencrypted; use "
            "https://, or set `allow_http = true` if the network itself is private"
        ]
    return []


def aws_keys_of(remote: RemoteSettings, environment: Mapping[str, str], root: Path) -> str:
    """Return key id, secret and perhaps a session token, each on a line.

    Empty when neither a file nor a variable has them: then boto3 looks in its usual places. Raises
    KeysUnsafe.
    """
    text = _read_file(remote, environment, root)
    if text is None:
        key_id = environment.get(_KEY_ID.upper(), "")
        secret = environment.get(_SECRET.upper(), "")
        token = environment.get(_TOKEN.upper(), "")
        return _lines(key_id, secret, token) if key_id and secret else ""
    section = _section(text, environment.get("AWS_PROFILE", ""))
    key_id = section.get(_KEY_ID, "")
    secret = section.get(_SECRET, "")
    if not key_id or not secret:
        raise KeysUnsafe(
            f"the AWS keys have no `{_KEY_ID}` or no `{_SECRET}`",
            hint="write it as `aws configure` does, with a section [default]",
        )
    return _lines(key_id, secret, section.get(_TOKEN, ""))


def _read_file(remote: RemoteSettings, environment: Mapping[str, str], root: Path) -> str | None:
    """The text of the credentials file; None when there is none."""
    if remote.credentials_file:
        return read_secret(
            Path(remote.credentials_file),
            root,
            name="credentials file",
            setting="remote.credentials_file",
            error=KeysUnsafe,
        )
    directory = environment.get("CREDENTIALS_DIRECTORY", "")
    credential = Path(directory) / CREDENTIAL
    if directory and credential.is_file():
        return read_credential(credential, root, name="credentials file", error=KeysUnsafe)
    return None


def _section(text: str, profile: str) -> Mapping[str, str]:
    """The section of a profile: the named one, [default], or the only one."""
    # A secret may contain a percent sign.
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(text)
    except configparser.Error:
        # Fault (H126): the message of configparser quotes the line with the secret.
        raise KeysUnsafe(
            "the AWS keys are not in the form of `~/.aws/credentials`",
            hint="write it as `aws configure` does, with a section [default]",
        ) from None
    names = parser.sections()
    wanted = profile or "default"
    if wanted not in names and not profile and len(names) == 1:
        wanted = names[0]
    if wanted not in names:
        raise KeysUnsafe(
            "the AWS keys have no section for this profile",
            hint="add a section [default], or name another one with AWS_PROFILE",
        )
    return parser[wanted]


def _lines(key_id: str, secret: str, token: str) -> str:
    parts = [key_id.strip(), secret.strip(), token.strip()]
    # Fault: a line break in a key would end the header, and the rest would be another
    # one.
    if not all(part.isprintable() and part.isascii() for part in parts):
        raise KeysUnsafe(
            "the AWS keys contain characters that no key has", hint="copy them again from the store"
        )
    return "\n".join(parts).rstrip("\n")
