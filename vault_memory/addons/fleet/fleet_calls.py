"""What an operator does with a fleet: add vaults, look at hosts, empty a host, take a vault out."""

import logging
import os
import secrets
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory import places
from vault_memory.addons.fleet.bundle import BundleOwner
from vault_memory.addons.fleet.fleet_config import FleetConfig
from vault_memory.addons.fleet.fleet_errors import HostsSilent, VaultInUse
from vault_memory.addons.fleet.ledger.contract import Holder, Lease, LedgerHost, LedgerVault
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import VaultAddedTwice
from vault_memory.addons.fleet.ledger.ledger_rows import vault_id
from vault_memory.addons.fleet.scratch import Scratch
from vault_memory.addons.fleet.vault_copy import VaultCopy, VaultInHome, fetch_missing, vault_in
from vault_memory.addons.fleet.visit import Visit
from vault_memory.config.remote_password import password_of
from vault_memory.edits.people import people_in
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.http.tokens import token_digest
from vault_memory.remote.remote_errors import PreconditionsIgnored, without_retry
from vault_memory.rules.paths.scopes import Caller
from vault_memory.sync.connection import open_configured
from vault_memory.sync.setup import make_folder
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import new_id, read_marker
from vault_memory.vault.reader import Folder

if TYPE_CHECKING:
    from vault_memory.contract.fleet_answers import (
        FleetHostJson,
        FleetStatusJson,
        FleetVaultJson,
        VaultAddedJson,
    )

logger = logging.getLogger(__name__)

NOWHERE = Path("/dev/null/vault-memory")
"""The folder of no vault, for checks that a secret is outside of it"""
PATIENCE_SECONDS = 120.0
"""For a vault that a host holds, or a host that drains"""
PAUSE_SECONDS = 0.25
TOKEN_BYTES = 32


class NewVault(NamedTuple):
    """What `fleet add` gets."""

    name: str
    home: str
    source: Path | None = None
    """the local vault that is copied"""
    user: str = ""
    """the person whom the token serves; empty: the only person of `source`, else the name"""


@without_retry()
def add(fleet: FleetConfig, ledger: Ledger, new: NewVault) -> "VaultAddedJson":
    """Add a vault and make its token, which is shown once.

    Raises UsageError, VaultAddedTwice, AnotherFleet, HomeInUse, PreconditionsIgnored, RemoteError.
    """
    _check_name(new.name, "the vault")
    user = _user_of(new)
    _check_name(user, "the person")
    remote = fleet.remote(new.home.rstrip("/"))
    home = remote.url
    vault = "" if new.source is None else _id_of(new.source)
    _refuse_twice(ledger, vault, new.name, home)
    password = password_of(remote, fleet.environment, new.source or NOWHERE)
    opened = open_configured(remote, password)
    try:
        make_folder(opened, remote, password)
        # Fault: a home that ignores preconditions lets a paused host overwrite a newer note.
        if not opened.probe().two_way:
            raise PreconditionsIgnored
        owner = BundleOwner(vault, ledger.fleet, ledger.secret)
        if new.source is not None:
            copy = VaultCopy(opened, VaultInHome(new.name, owner, home))
            copy.check_home()
            state = Path(places.state_root(fleet.environment), vault)
            copy.copy(Folder(new.source), state)
        elif vault := vault_in(opened, owner):
            # Fault: the ledger is older than the home, or this command was killed.
            _refuse_twice(ledger, vault, new.name, home)
        else:
            vault = new_id()
            owner = replace(owner, vault=vault)
            VaultCopy(opened, VaultInHome(new.name, owner, home)).mark_home()
    finally:
        opened.close()
    # Only now can a host see the vault, which is complete.
    added = str(uuid.UUID(vault))
    ledger.add(added, new.name, home)
    return _give_token(ledger, added, user)


def renew_token(ledger: Ledger, name: str, user: str) -> "VaultAddedJson":
    """Replace all tokens of a vault by a new one, which is shown once.

    Raises UsageError, UnknownVault.
    """
    _check_name(user, "the person")
    row = ledger.vault(name)
    ledger.drop_tokens(row.id)
    return _give_token(ledger, row.id, user)


def _give_token(ledger: Ledger, vault: str, user: str) -> "VaultAddedJson":
    """Make a token that opens a vault as this person."""
    token = secrets.token_hex(TOKEN_BYTES)
    ledger.set_token(vault, token_digest(token), Caller(user))
    return {"vault": vault, "token": token}


def _check_name(name: str, owner: str) -> None:
    """Raise UsageError for a name that a list, a terminal or a folder cannot show."""
    # Fault: a line break or an escape sequence in a name would write into the terminals of
    # operators.
    is_plain = name == name.strip() and name.isprintable() and "/" not in name
    if not is_plain or name in ("", ".", ".."):
        raise UsageError(
            f"{name!r} cannot be the name of {owner}", hint="use letters, digits, `-`, `_` and `.`"
        )
    # Fault: a command takes a vault by name or by id. The id of another vault as a name
    # would let it take the wrong one.
    if vault_id(name):
        raise UsageError(
            f"`{name}` has the form of a vault's id, and cannot be the name of {owner}",
            hint="choose a name that people can tell apart",
        )


def _user_of(new: NewVault) -> str:
    """Return the person whom the token serves. Raises UsageError."""
    people = [] if new.source is None else people_in(new.source)
    if new.user or not people or new.name in people:
        return new.user or new.name
    # Fault: a token for a person whom the copied vault does not have finds none of its notes.
    if new.source is not None and len(people) > 1:
        raise UsageError(
            f"the vault in `{new.source}` has several people: {', '.join(people)}",
            hint="name the one whom the token serves with `--user`",
        )
    return people[0]


def _id_of(source: Path) -> str:
    """The id of a local vault. Raises UsageError, VaultUnreachable."""
    marker = read_marker(source)
    if marker is None:
        raise UsageError(
            f"`{source}` is no vault", hint=f"make it one with `vault-memory init {source}`"
        )
    return marker.vault


def _refuse_twice(ledger: Ledger, vault: str, name: str, home: str) -> None:
    """Raise VaultAddedTwice before anything is copied; `Ledger.add` decides later."""
    for row in ledger.vaults():
        is_same = row.name == name or uuid.UUID(row.id).hex == vault
        if is_same or _is_inside(row.home, home) or _is_inside(home, row.home):
            raise VaultAddedTwice(name)


def _is_inside(home: str, other: str) -> bool:
    """Whether a home is the other one, or a folder in it: its notes would be in both vaults."""
    return f"{home.rstrip('/')}/".startswith(f"{other.rstrip('/')}/")


# --- Looking ---


def status(ledger: Ledger) -> "FleetStatusJson":
    """Return hosts, vaults and totals."""
    counts = ledger.counts()
    return {
        "fleet": ledger.fleet,
        "hosts": [_host_json(host) for host in ledger.hosts() if host.address],
        "vaults": [_vault_json(vault) for vault in ledger.vaults()],
        "leased": counts.leased,
        "due": counts.due,
        "troubled": counts.troubled,
        "waiting": counts.waiting,
    }


def _host_json(host: LedgerHost) -> "FleetHostJson":
    return {
        "name": host.name,
        "address": host.address,
        "silent_seconds": round(host.silent_seconds, 1),
        "draining": host.draining,
        "vaults": host.leases,
    }


def _vault_json(vault: LedgerVault) -> "FleetVaultJson":
    return {
        "name": vault.name,
        "vault": vault.id,
        "home": vault.home,
        "holder": vault.holder.host if vault.holder else "",
        "due": vault.due.isoformat(timespec="seconds"),
        "tries": vault.tries,
        "trouble": vault.trouble,
        "waiting": vault.waiting,
    }


# --- Emptying a host ---


def drain(ledger: Ledger, host: str, patience: float = PATIENCE_SECONDS) -> LedgerHost:
    """Ask a host to give back its vaults, and wait for it. Raises UsageError, HostsSilent."""
    row = _host(ledger, host)
    ledger.set_draining(host, True)
    deadline = time.monotonic() + patience
    while row.leases:
        if time.monotonic() > deadline:
            raise HostsSilent([host])
        time.sleep(PAUSE_SECONDS)
        row = _host(ledger, host)
    return row


def _host(ledger: Ledger, name: str) -> LedgerHost:
    hosts = ledger.hosts()
    for host in hosts:
        if host.name == name:
            return host
    names = ", ".join(f"`{host.name}`" for host in hosts if host.address)
    raise UsageError(
        f"the fleet has no host `{name}`",
        hint=f"the hosts are {names}" if names else "no host has used the ledger yet",
    )


# --- One vault, held by this command ---


@contextmanager
def visiting(
    fleet: FleetConfig, ledger: Ledger, name: str, patience: float = PATIENCE_SECONDS
) -> Iterator[Visit]:
    """Hold a vault for a command, on a scratch that is deleted afterwards.

    Waits while a host uses the vault. Raises UnknownVault, VaultInUse, and the errors of a visit.
    """
    row = ledger.vault(name)
    folder = Path(tempfile.mkdtemp(prefix="vault-memory-"))
    host = command_host(folder)
    try:
        lease = _take(ledger, row, host, patience)
        with _renewed(ledger, lease):
            visit = Visit.open(lease, ledger, fleet.visit_settings(folder))
            try:
                yield visit
                visit.leave()
            finally:
                visit.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        ledger.erased(row.id, host)


@contextmanager
def _renewed(ledger: Ledger, lease: Lease) -> Iterator[None]:
    """Prolong a lease until the command is done."""
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(ledger.lease_seconds / 3):
            try:
                ledger.renew([lease])
            except VaultMemoryError as error:
                logger.warning("the lease is not renewed: %s", error.code)

    # Fault: to copy a large vault takes longer than a lease lasts, and a host takes it then.
    thread = threading.Thread(target=renew, name="lease")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def command_host(folder: Path) -> str:
    """Return the name under which a command with this folder of scratches holds a vault."""
    return f"command-{folder.name}"


def _take(ledger: Ledger, row: LedgerVault, host: str, patience: float) -> Lease:
    deadline = time.monotonic() + patience
    while True:
        taken = ledger.take(row.id, host, "")
        if not isinstance(taken, Holder):
            return taken
        if time.monotonic() > deadline:
            raise VaultInUse(row.name, taken.host)
        time.sleep(PAUSE_SECONDS)


@without_retry()
def export(fleet: FleetConfig, ledger: Ledger, name: str, target: Path) -> int:
    """Write the files of a vault into a new folder: the way back. Returns how many there are.

    Operations that wait are executed first. The folder is a vault after `vault-memory init`.
    """
    if os.path.lexists(target):
        raise UsageError(
            f"`{target}` exists already", hint="name a new folder; nothing was written"
        )
    parent = target.absolute().parent
    # Checked first: the vault may be in use for two minutes.
    if not parent.is_dir():
        raise UsageError(
            f"there is no folder `{parent}`", hint="make it first; nothing was written"
        )
    with visiting(fleet, ledger, name) as visit:
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=parent))
        try:
            shutil.copytree(visit.scratch.root, partial, dirs_exist_ok=True)
            # Two folders with one id would be taken for one vault that was moved.
            (partial / MARKER).unlink(missing_ok=True)
            # Fault: `add --from` copied a large file, and it would be missing here.
            fetch_missing(visit.bundles.remote, partial)
            count = sum(len(names) for _, _, names in os.walk(partial))
            os.rename(partial, target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return count


# --- Scratches ---


def erase_copy(ledger: Ledger, host: str, folder: Path, vault: str) -> None:
    """Delete the local copy of a vault that a host has, and say so in the ledger."""
    Scratch(folder, vault.replace("-", "")).erase()
    ledger.erased(vault, host)
