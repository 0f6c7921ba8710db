"""Sets up the remote of a vault: finds it, tests it, and writes it into the configuration."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.config import remote_checks
from vault_memory.config.remote_password import forget_password, keep_password, password_of
from vault_memory.config.sections import RemoteSettings
from vault_memory.config.toml_edit import with_table, without_table
from vault_memory.errors import ConfigError, UsageError
from vault_memory.remote import login as remote_login
from vault_memory.remote import remotes
from vault_memory.remote.contract import Capabilities, Remote
from vault_memory.remote.remote_errors import (
    RemoteChanged,
    RootMissing,
    Unauthorised,
    without_retry,
)
from vault_memory.rules.paths.filenames import inside
from vault_memory.sync.connection import (
    NoRemote,
    account_of,
    alone,
    forget_refusals,
    note_refusal,
    open_configured,
)
from vault_memory.sync.observe.other_clients import refuse_other_clients
from vault_memory.sync.state_db import FILE as STATE_FILE
from vault_memory.sync.state_db import open_state
from vault_memory.sync.status import mark_of
from vault_memory.sync.sync_errors import NotTwoWay

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import RemoteTestJson
    from vault_memory.remote.login import Granted
    from vault_memory.sync.calls import SyncCalls

TABLE = "remote"
PATIENCE_SECONDS = 5.0
LOGIN_SECONDS = 1200.0
"""How long Nextcloud keeps a login open"""
LOGIN_PAUSE = 1.0

WORDS = {
    "conditional_create": (
        "a new file never overwrites one",
        "a new file may overwrite one of the same name",
    ),
    "conditional_put": (
        "an edit never overwrites a newer one",
        "an edit may overwrite a newer one of another device unseen",
    ),
    "conditional_delete": (
        "an edited file is never deleted",
        "a file may be deleted that was just edited",
    ),
    "etags": (
        "each version of a file has a tag of its own",
        "versions are told apart by size and time only",
    ),
    "recursive_etags": (
        "one request tells whether anything changed",
        "each look for changes takes a request for every folder",
    ),
    "fileids": ("files are known again after a rename", "a renamed file is told by its content"),
    "checksums": ("checksums are kept, so equal files are not fetched", "no checksums are kept"),
    "normalises_names": (
        "accented names are kept in one spelling",
        "names are kept as they are spelt",
    ),
    "infinity": ("the whole tree is listed at once", "the tree is listed folder by folder"),
}
"""What a capability means where the server has it, and where it does not"""


@dataclass(frozen=True, slots=True)
class RemoteTest:
    """The result of testing a remote."""

    server: str
    kind: str
    milliseconds: float
    """of one short request, the best of three"""
    traits: Capabilities
    created: bool = False
    """whether the folder is new"""

    @property
    def words(self) -> list[str]:
        """What the capabilities mean for a person."""
        traits = asdict(self.traits)
        # One listing of all files takes the place of a request for every folder.
        hidden = "recursive_etags" if traits["infinity"] else ""
        return [
            yes if traits[name] else no
            for name, (yes, no) in WORDS.items()
            if traits[name] or name != hidden
        ]

    def as_json(self) -> "RemoteTestJson":
        """Return the answer of `remote add` and `remote test`."""
        return {
            "server": self.server,
            "kind": self.kind,
            "milliseconds": self.milliseconds,
            "created": self.created,
            "two_way": self.traits.two_way,
            "traits": asdict(self.traits),  # type: ignore[typeddict-item]
            "words": self.words,
        }


def find_remote(url: str, remote: RemoteSettings) -> str:
    """Find the address for the configuration from what a person types, e.g. the address of a Nextcloud.

    Sends no password. Raises ConfigError, RemoteUnreachable.
    """
    remote = remote._replace(url=_without_query(url))
    _check(remote)
    with without_retry():
        return remotes.find(url, account_of(remote, ""))


def _without_query(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]


def is_account_root(url: str) -> bool:
    """Whether an address is that of all files of a Nextcloud account."""
    return remotes.is_account_root(url)


def below(url: str, folder: str) -> str:
    """The address of a folder below another."""
    from urllib.parse import quote

    return f"{url.rstrip('/')}/{quote(inside(folder.strip('/')))}"


def log_in(url: str, remote: RemoteSettings, show: Callable[[str], None]) -> "Granted":
    """Log in through a page of the server, whose address `show` gets. Returns an app password.

    Raises UsageError when no person approves the login in time.
    """
    _check(remote._replace(url=_without_query(url)))
    with without_retry():
        login = remote_login.Login(url, proxy=remote.proxy, ca_file=remote.ca_file)
    try:
        show(login.page)
        deadline = time.monotonic() + LOGIN_SECONDS
        while time.monotonic() <= deadline:
            granted = login.poll()
            if granted is not None:
                return granted
            time.sleep(LOGIN_PAUSE)
        raise UsageError(
            "the login was not approved in time", hint="run `vault-memory remote add` again"
        )
    finally:
        login.close()


def add(calls: "SyncCalls", remote: RemoteSettings, password: str) -> RemoteTest:
    """Test the remote, and write it into the configuration.

    An empty `password` means the one in its password file. A missing folder is made. Raises
    AnotherClient, NotTwoWay, ConfigError, RemoteError.
    """
    vault = calls.vault
    refuse_other_clients(vault.root)
    _check(remote)
    file = vault.config_file
    if file is None:
        raise ConfigError(
            "there is no configuration file to write to", hint="name one with `--config`"
        )
    secret = password or password_of(remote, vault.environment, vault.root)
    before = vault.config.remote
    with without_retry():
        tested = _test(remote, secret, make=True)
    if remote.mode == "two-way" and not (tested.traits.two_way or remote.insist):
        raise NotTwoWay
    with alone(vault.state.path, patience=PATIENCE_SECONDS):
        if password:
            remote = remote._replace(password_file=str(keep_password(password, vault.state.path)))
            password_of(remote, vault.environment, vault.root)
        text = file.read_bytes().decode("utf-8") if file.exists() else ""
        _write(file, with_table(text, TABLE, _to_write(before, remote)))
        if _place_of(before) != _place_of(remote):
            _delete_state(calls)
        _store_capabilities(calls, tested.traits)
        forget_refusals(vault.state.path)
    return tested


def test(calls: "SyncCalls") -> RemoteTest:
    """Test the configured remote. A refused password is tried once. Raises NoRemote, RemoteError."""
    vault = calls.vault
    remote = vault.config.remote
    if not remote.url:
        raise NoRemote
    password = password_of(remote, vault.environment, vault.root)
    try:
        with without_retry():
            tested = _test(remote, password)
    except Unauthorised:
        note_refusal(
            vault.state.path, mark_of(remote.url, remote.user, password), datetime.now(UTC)
        )
        raise
    forget_refusals(vault.state.path)
    _store_capabilities(calls, tested.traits)
    return tested


def remove(calls: "SyncCalls") -> None:
    """Stop syncing: delete the configuration, password and sync state. Both folders stay. Raises NoRemote."""
    vault = calls.vault
    if not vault.config.remote.url:
        raise NoRemote
    file = vault.config_file
    with alone(vault.state.path, patience=PATIENCE_SECONDS):
        if file is not None and file.exists():
            _write(file, without_table(file.read_bytes().decode("utf-8"), TABLE))
        forget_password(vault.state.path)
        _delete_state(calls)
        (vault.state.path / "sync.json").unlink(missing_ok=True)


def _place_of(remote: RemoteSettings) -> tuple[str, str, str]:
    return remote.url, remote.user, remote.endpoint


def _to_write(before: RemoteSettings, remote: RemoteSettings) -> dict[str, object]:
    """The values that differ from the defaults, or did. Lists of patterns stay as they are written."""
    defaults, previous = RemoteSettings()._asdict(), before._asdict()
    values: dict[str, object] = {}
    for name, value in remote._asdict().items():
        if isinstance(value, tuple):
            continue
        if value != defaults[name] or previous[name] != defaults[name]:
            values[name] = value
    return values


def _check(remote: RemoteSettings) -> None:
    """Raise ConfigError when the configuration of a remote is invalid."""
    problems = remote_checks.problems_of(remote)
    if not problems:
        return
    hint = "`vault-memory remote --help` shows how"
    if remote.url.lower().startswith("s3:"):
        hint = (
            "write it as `s3://bucket/folder`, with `--endpoint URL` for a store that is not Amazon"
        )
    if "`allow_http = true`" in problems[0]:
        hint = "write https://, or add `--allow-http` to `vault-memory remote add`"
    match = re.fullmatch(
        r"(?:(?:web)?davs?://)?([^/@\s:?#]+(?::[0-9]+)?(?:/[^\s@?#]*)?)", remote.url
    )
    if match:
        hint = f"write `https://{match[1]}`"
    raise ConfigError(f"the address of the remote: {problems[0]}", hint=hint)


def _test(remote: RemoteSettings, password: str, *, make: bool = False) -> RemoteTest:
    opened = open_configured(remote, password)
    try:
        created = make and make_folder(opened, remote, password)
        times = []
        for _ in range(3):
            began = time.perf_counter()
            opened.look("")
            times.append(time.perf_counter() - began)
        return RemoteTest(
            remote.url, opened.kind, round(1000 * min(times), 1), opened.probe(), created
        )
    finally:
        opened.close()


def make_folder(opened: Remote, remote: RemoteSettings, password: str) -> bool:
    """Make the folder and those above it where they are missing. Returns whether it was missing."""
    try:
        opened.look("")
        return False
    except RootMissing:
        if is_account_root(remote.url):
            raise
    _make_below(remote, password, remote.url.rstrip("/"))
    opened.look("")
    return True


def _make_below(remote: RemoteSettings, password: str, url: str) -> None:
    """Make the folder at `url`, and first those above it where they are missing. Raises RootMissing."""
    from urllib.parse import unquote, urlsplit

    above, _, name = url.rpartition("/")
    parent = open_configured(remote._replace(url=above), password)
    try:
        try:
            parent.look("")
        except RootMissing:
            if is_account_root(above) or not urlsplit(above).path.strip("/"):
                raise
            _make_below(remote, password, above)
        parent.mkcol(unquote(name))
    except RemoteChanged:
        # The folder exists, and this account may not see it.
        raise RootMissing(url) from None
    finally:
        parent.close()


def _store_capabilities(calls: "SyncCalls", traits: Capabilities) -> None:
    """Store what the server can do, so that the first sync does not probe again."""
    state = open_state(calls.vault.state.path)
    try:
        with state.transaction():
            state.set_meta("traits", asdict(traits))
    finally:
        state.close()


def _delete_state(calls: "SyncCalls") -> None:
    """Delete the sync state: what is known of another server proves nothing about this one."""
    calls.close()
    for ending in ("", "-wal", "-shm"):
        (calls.vault.state.path / f"{STATE_FILE}{ending}").unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    """Replace the configuration file as a whole, with its mode. Raises ConfigError."""
    temporary = file.with_name(f"{file.name}.{os.urandom(6).hex()}")
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigError(
            f"the configuration `{file}` cannot be written: {error.strerror}"
        ) from None
