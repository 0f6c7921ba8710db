"""Setting up the remote of a vault: find it, try it, and write it into the configuration."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.config import remote_problems
from vault_memory.config.remote_password import (
    forget_password,
    keep_password,
    password_of,
)
from vault_memory.config.sections import Remote
from vault_memory.config.toml_edit import with_table, without_table
from vault_memory.errors import ConfigError, UsageError
from vault_memory.lazy import lazy_module
from vault_memory.remote.contract import Capabilities
from vault_memory.remote.remote_errors import (
    LATER,
    RemoteBusy,
    RemoteChanged,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
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
from vault_memory.sync.state_db import open_state
from vault_memory.sync.status import mark_of
from vault_memory.sync.sync_errors import NotTwoWay

if TYPE_CHECKING:
    from vault_memory.remote import login as remote_login
    from vault_memory.remote import remotes
    from vault_memory.remote.login import Granted
    from vault_memory.remote.webdav import WebDav
    from vault_memory.sync.calls import SyncCalls
else:
    remote_login = lazy_module("vault_memory.remote.login")
    remotes = lazy_module("vault_memory.remote.remotes")

TABLE = "remote"
BOOK = "sync.sqlite"
PATIENCE_SECONDS = 5.0
LOGIN_SECONDS = 1200.0
"""For which Nextcloud keeps a login open"""
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
    "fileids": (
        "files are known again after a rename",
        "a renamed file is told by its content",
    ),
    "checksums": (
        "checksums are kept, so equal files are not fetched",
        "no checksums are kept",
    ),
    "normalises_names": (
        "accented names are kept in one spelling",
        "names are kept as they are spelt",
    ),
    "infinity": (
        "the whole tree is listed at once",
        "the tree is listed folder by folder",
    ),
}
"""What is so where a trait is there, and where it is not"""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a server does."""

    server: str
    kind: str
    milliseconds: float
    """for one short answer, the best of three"""
    traits: Capabilities
    created: bool = False
    """whether the folder was made"""

    @property
    def words(self) -> list[str]:
        """What that means."""
        known = asdict(self.traits)
        return [yes if known[name] else no for name, (yes, no) in WORDS.items()]

    def as_json(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "kind": self.kind,
            "milliseconds": self.milliseconds,
            "created": self.created,
            "two_way": self.traits.two_way,
            "traits": asdict(self.traits),
            "words": self.words,
        }


def find_remote(url: str, remote: Remote) -> str:
    """The address for the configuration, from what a person types: of their files, where a Nextcloud lives there.

    Sends no password. Raises ConfigError, RemoteUnreachable.
    """
    remote = remote._replace(url=url.partition("?")[0].partition("#")[0])
    _check(remote)
    with _once():
        return remotes.find(url, account_of(remote, ""))


def is_account_root(url: str) -> bool:
    """Whether it is the address of all files of a Nextcloud account."""
    return remotes.is_account_root(url)


def below(url: str, folder: str) -> str:
    """The address of a folder below another."""
    from urllib.parse import quote

    return f"{url.rstrip('/')}/{quote(inside(folder.strip('/')))}"


def log_in(url: str, remote: Remote, show: Callable[[str], None]) -> "Granted":
    """A person says yes on a page of the server's, which `show` is given; an app password comes back."""
    _check(remote._replace(url=url.partition("?")[0].partition("#")[0]))
    with _once():
        login = remote_login.Login(url, proxy=remote.proxy, ca_file=remote.ca_file)
    try:
        show(login.page)
        give_up = time.monotonic() + LOGIN_SECONDS
        while (granted := login.poll()) is None:
            if time.monotonic() > give_up:
                raise UsageError(
                    "nobody said yes on that page in time", hint="begin again"
                )
            time.sleep(LOGIN_PAUSE)
        return granted
    finally:
        login.close()


def add(calls: "SyncCalls", remote: Remote, password: str) -> Tried:
    """Try the remote, and write it into the configuration; an empty `password` means the one of its password file.

    The folder is made when only it is missing. Raises AnotherClient, NotTwoWay, ConfigError, RemoteError.
    """
    vault = calls.vault
    refuse_other_clients(vault.root)
    _check(remote)
    file = vault.config_file
    if file is None:
        raise ConfigError(
            "there is no configuration file to write to",
            hint="name one with `--config`",
        )
    secret = password or password_of(remote, vault.environment, vault.root)
    before = vault.config.remote
    with _once():
        tried = _try(remote, secret, make=True)
    if remote.mode == "two-way" and not (tried.traits.two_way or remote.insist):
        raise NotTwoWay
    with alone(vault.state.path, patience=PATIENCE_SECONDS):
        if password:
            remote = remote._replace(
                password_file=str(keep_password(password, vault.state.path))
            )
            password_of(remote, vault.environment, vault.root)
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        _write(file, with_table(text, TABLE, _to_write(before, remote)))
        if (before.url, before.user) != (remote.url, remote.user):
            _forget_book(calls)
        _learn(calls, tried.traits)
        forget_refusals(vault.state.path)
    return tried


def test(calls: "SyncCalls") -> Tried:
    """Find out anew what the server does. A password that was refused is tried once. Raises NoRemote, RemoteError."""
    vault = calls.vault
    remote = vault.config.remote
    if not remote.url:
        raise NoRemote
    password = password_of(remote, vault.environment, vault.root)
    try:
        with _once():
            tried = _try(remote, password)
    except Unauthorised:
        note_refusal(
            vault.state.path,
            mark_of(remote.url, remote.user, password),
            datetime.now(UTC),
        )
        raise
    forget_refusals(vault.state.path)
    _learn(calls, tried.traits)
    return tried


def remove(calls: "SyncCalls") -> None:
    """Sync no more: the table, the stored password and what was remembered go; both folders stay. Raises NoRemote."""
    vault = calls.vault
    if not vault.config.remote.url:
        raise NoRemote
    file = vault.config_file
    with alone(vault.state.path, patience=PATIENCE_SECONDS):
        if file is not None and file.exists():
            _write(file, without_table(file.read_text(encoding="utf-8"), TABLE))
        forget_password(vault.state.path)
        _forget_book(calls)
        (vault.state.path / "sync.json").unlink(missing_ok=True)


def _to_write(before: Remote, remote: Remote) -> dict[str, object]:
    """What is not as usual, or was not; lists of patterns stay as they are written."""
    usual, old = Remote()._asdict(), before._asdict()
    return {
        name: value
        for name, value in remote._asdict().items()
        if not isinstance(value, tuple)
        and (value != usual[name] or old[name] != usual[name])
    }


def _check(remote: Remote) -> None:
    if problems := remote_problems(remote):
        hint = "`vault-memory remote --help` shows how"
        if match := re.fullmatch(
            r"(?:(?:web)?davs?://)?([^/@\s:?#]+(?::[0-9]+)?(?:/[^\s@?#]*)?)", remote.url
        ):
            hint = f"write `https://{match[1]}`"
        raise ConfigError(f"the address of the remote: {problems[0]}", hint=hint)


@contextmanager
def _once() -> Iterator[None]:
    """What fails here is not tried again by itself, whatever runs."""
    try:
        yield
    except (RemoteUnreachable, RemoteBusy) as error:
        if error.hint == LATER:
            error.hint = "check the address, and try again in a while"
        raise


def _try(remote: Remote, password: str, *, make: bool = False) -> Tried:
    opened = open_configured(remote, password)
    try:
        created = make and _made(opened, remote, password)
        times = []
        for _ in range(3):
            began = time.perf_counter()
            opened.look("")
            times.append(time.perf_counter() - began)
        kind = "Nextcloud" if type(opened).__name__ == "Nextcloud" else "WebDAV"
        return Tried(
            remote.url, kind, round(1000 * min(times), 1), opened.probe(), created
        )
    finally:
        opened.close()


def _made(opened: "WebDav", remote: Remote, password: str) -> bool:
    """Make the folder if it is missing, and those above it that are."""
    try:
        opened.look("")
        return False
    except RootMissing:
        if is_account_root(remote.url):
            raise
    _make_below(remote, password, remote.url.rstrip("/"))
    opened.look("")
    return True


def _make_below(remote: Remote, password: str, url: str) -> None:
    """Make the folder at `url` in the one above it, which is made first where it is missing too. Raises RootMissing."""
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
        raise RootMissing(url) from None  # it is there, and this account may not see it
    finally:
        parent.close()


def _learn(calls: "SyncCalls", traits: Capabilities) -> None:
    """The first sync need not find it out again."""
    state = open_state(calls.vault.state.path)
    try:
        with state.transaction():
            state.set_meta("traits", asdict(traits))
    finally:
        state.close()


def _forget_book(calls: "SyncCalls") -> None:
    """What is remembered of another server is no evidence about this one."""
    calls.close()
    for ending in ("", "-wal", "-shm"):
        (calls.vault.state.path / f"{BOOK}{ending}").unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    fresh = file.with_name(f"{file.name}.{os.urandom(6).hex()}")
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(fresh, file)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise ConfigError(
            f"the configuration `{file}` cannot be written: {error.strerror}"
        ) from None
