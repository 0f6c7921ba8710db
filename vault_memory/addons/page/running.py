"""The page of a vault: its address, always the same, and the record of it while it runs."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from vault_memory import places
from vault_memory.addons.page.browser_sessions import Rights, key_prefix
from vault_memory.config import state_file
from vault_memory.errors import ConfigError, Locked
from vault_memory.service.host_folder import host_state

FIRST_PORT = 20_000
PORTS = 10_000
LONGEST_NAME = 40


class PageAddress(NamedTuple):
    """Where the page of a vault is."""

    host: str
    """the name in URLs"""
    port: int

    @property
    def url(self) -> str:
        """The page's URL, without a path"""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def default_address(root: Path) -> PageAddress:
    """Returns the address of the page of the vault in this folder.

    Fault: browsers ignore ports when they send cookies. Each vault has a host name of its own
    below `localhost`, which all browsers take for this machine.
    """
    digest = hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogateescape"))
    number = int.from_bytes(digest.digest()[:4], "big")
    host = f"{_host_label(root.name)}-{digest.hexdigest()[:6]}.localhost"
    return PageAddress(host, FIRST_PORT + number % PORTS)


def _host_label(name: str) -> str:
    """Returns a folder's name with nothing but what a host name can have."""
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return label[:LONGEST_NAME].strip("-") or "vault"


FILE = "web.json"
LOCK = "web.lock"
OPENER = "web-open.html"


class RunningPage(msgspec.Struct, frozen=True):
    """A page that is served now."""

    url: str
    rights: Rights
    is_host: bool = False
    """whether it serves the pages of many vaults"""

    def with_rights(self, rights: Rights) -> "RunningPage":
        """Returns this page with other rights."""
        return msgspec.structs.replace(self, rights=rights)

    def key_prefix(self, state: Path) -> str:
        """Returns how the links of the vault with this state folder begin."""
        return key_prefix(state.name) if self.is_host else ""


class NoPage(ConfigError):
    """No page is served."""

    def __init__(self) -> None:
        super().__init__("the page does not run", hint="start it with `vault-memory web`")


@contextmanager
def announced(state: Path, page: RunningPage) -> Iterator[None]:
    """Tells other processes of this page while it runs. Raises Locked when another one runs."""
    # Fault: a process that was killed deletes no file. The system frees its lock.
    try:
        with state_file.lock(state / LOCK, patience=0):
            state_file.write(state / FILE, msgspec.json.encode(page).decode())
            try:
                yield
            finally:
                (state / FILE).unlink(missing_ok=True)
                (state / OPENER).unlink(missing_ok=True)
    except state_file.LockTaken:
        raise Locked(
            "the page of this vault runs already",
            hint="`vault-memory web --link` prints a new link to it",
        ) from None


@contextmanager
def announced_host(vaults: Path, states: Path, url: str) -> Iterator[None]:
    """Announces the pages of a host, which serves the vaults in this folder, to other processes.

    `states` is the folder of all vaults' states. One announcement is for all vaults, also those that
    are made later. Raises Locked when another host announces this folder.
    """
    state = host_state(vaults, states)
    places.make_private(state)
    with announced(state, RunningPage(url, Rights(), is_host=True)):
        yield


def find_page(root: Path, state: Path) -> RunningPage | None:
    """Returns the page of the vault at `root`: its own, else that of the host that serves it."""
    page = find_running(state)
    if page is not None:
        return page
    for folder in root.resolve().parents:
        of_host = host_state(folder, state.parent)
        # Without this look, the lock would be made for each folder.
        if (of_host / FILE).exists():
            page = find_running(of_host)
            if page is not None:
                return page
    return None


def find_running(state: Path) -> RunningPage | None:
    """Returns the page that is served now; None without one."""
    try:
        with state_file.lock(state / LOCK, patience=0):
            return None
    except state_file.LockTaken:
        pass
    value: Any = state_file.read_json(state / FILE)
    try:
        return msgspec.convert(value, RunningPage)
    except msgspec.ValidationError:
        # It starts or stops just now.
        return None


def write_opener(state: Path, link: str) -> Path:
    """Writes a file that leads a browser to a link. Only the owner can read it.

    Fault: other users of the machine can read the arguments of the browser. They hold the name of
    this file, not the key.
    """
    file = state / OPENER
    text = (
        f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><title>Opening</title>'
    )
    state_file.write(file, text)
    return file
