"""Forgets a text in a vault of a fleet: in its home, its earlier versions, and on all hosts.

The vault itself is redacted as `forget` does, and flushed. Then earlier versions in the home are
deleted: each one of a note that has the text, and each one of the bundle, which is packed. Hosts
delete their local copies, and confirm it in the ledger. Last comes the list of what is out of reach.
"""

import time
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.addons.fleet.bundle import LARGEST
from vault_memory.addons.fleet.bundle_store import NAME
from vault_memory.addons.fleet.fleet_calls import NOWHERE, command_host, visiting
from vault_memory.addons.fleet.fleet_config import FleetConfig
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.vault_copy import left_alone
from vault_memory.addons.fleet.visit import Visit
from vault_memory.api import json_contract
from vault_memory.config.remote_password import password_of
from vault_memory.remote.contract import FileVersion
from vault_memory.remote.remote_errors import Refused, RemoteMissing, without_retry
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.sync.connection import open_configured

if TYPE_CHECKING:
    from vault_memory.contract.fleet_answers import FleetForgottenJson
    from vault_memory.forgetting.forget_text import Forgotten

HOST_SECONDS = 60.0
"""For hosts to delete their local copies"""
PAUSE_SECONDS = 1.0
BACKUPS = "backups of the home and of the database"
SERVER_VERSIONS = "earlier versions and the trash that the server of the home keeps"
HIDDEN_VERSIONS = "earlier versions in the bucket, which the account may not read"
REFUSED_VERSIONS = "{count} earlier versions in the bucket, which the account may not delete"
UNREAD_VERSIONS = "{count} earlier versions in the bucket, which the account cannot read"
LARGE_FILES = "{count} files of the home that are too large to be read"
ERASED = "it was deleted"
OTHER = "it does not have the text"


class FleetForgotten(NamedTuple):
    """What was removed in the vault and beyond it."""

    report: "Forgotten"
    versions: int = 0
    """earlier versions that were deleted in the home"""
    hosts: tuple[str, ...] = ()
    """hosts that have deleted their local copies"""
    unreached: tuple[str, ...] = ()
    """what may still have the text"""
    is_complete: bool = True
    """whether the fleet has no copy left; `unreached` names what is outside of it, too"""

    def as_json(self) -> "FleetForgottenJson":
        """Return the answer of `fleet forget`."""
        return {
            "forgotten": json_contract.of_forgotten(self.report),
            "versions": self.versions,
            "hosts": list(self.hosts),
            "unreached": list(self.unreached),
        }


@without_retry()
def forget(
    fleet: FleetConfig, ledger: Ledger, name: str, text: str, *, dry_run: bool
) -> FleetForgotten:
    """Remove a text from a vault, or say where it is. Raises UnknownVault, VaultInUse, TextTooShort."""
    matcher = TextMatcher.of(text)
    with visiting(fleet, ledger, name) as visit:
        if dry_run:
            return FleetForgotten(visit.memory.forget(text, dry_run=True))
        # Fault: this command is killed, and a host brings its copy from before to the home.
        asked = _ask_hosts(ledger, visit)
        with visit.changing() as memory:
            report = memory.forget(text)
        is_home_clean = visit.flush().is_complete
        outside = [BACKUPS, *ledger.erase_traces()]
        copies: list[str] = []
        if ledger.vault(name).waiting:
            copies.append("operations in the ledger that the vault refuses")
        if not is_home_clean:
            copies.append("files of the home that wait for another program")
        # Fault: a person may have put the text into a file that is too large for sync.
        large_files = left_alone(visit.bundles.remote, visit.scratch.root)
        if count := sum(1 for _ in large_files):
            copies.append(LARGE_FILES.format(count=count))
        versions, kept_versions = _erase_versions(fleet, visit, matcher)
        # The server of the home, and not the fleet, keeps such versions.
        by_server = [place for place in kept_versions if place == SERVER_VERSIONS]
        copies += [place for place in kept_versions if place != SERVER_VERSIONS]
        silent = _silent_hosts(ledger, visit, asked)
        erased = tuple(host for host in asked if host not in silent)
        copies += [f"the local copy on the host `{host}`" for host in silent]
        unreached = (*copies, *outside, *by_server)
        return FleetForgotten(report, versions, erased, unreached, not copies)


# --- The home ---


def _erase_versions(
    fleet: FleetConfig, visit: Visit, matcher: TextMatcher
) -> tuple[int, list[str]]:
    """Delete earlier versions with the text. Returns how many, and what is out of reach."""
    remote = fleet.remote(visit.lease.home)
    opened = open_configured(remote, password_of(remote, fleet.environment, NOWHERE))
    try:
        if opened.kind != "S3":
            return 0, [SERVER_VERSIONS]
        return _erase_in_bucket(opened, matcher)
    finally:
        opened.close()


def _erase_in_bucket(bucket: Any, matcher: TextMatcher) -> tuple[int, list[str]]:
    outcomes: Counter[str] = Counter()
    unreached = []
    try:
        for path, version in bucket.earlier_versions():
            outcomes[_erase_version(bucket, path, version, matcher)] += 1
    except Refused:
        unreached.append(HIDDEN_VERSIONS)
    unreached += [
        place.format(count=outcomes[place])
        for place in (UNREAD_VERSIONS, REFUSED_VERSIONS)
        if outcomes[place]
    ]
    return outcomes[ERASED], unreached


def _erase_version(bucket: Any, path: str, version: FileVersion, matcher: TextMatcher) -> str:
    """Delete a version with the text. Returns ERASED, OTHER, or why it stays."""
    # Fault: the account may not read or delete this version. The hosts must delete their
    # copies all the same, and the receipt has to name what is left.
    try:
        if path != NAME and not _has_text(bucket, path, version, matcher):
            return OTHER
    except Refused:
        return UNREAD_VERSIONS
    try:
        bucket.erase_version(path, version)
    except Refused:
        return REFUSED_VERSIONS
    return ERASED


def _has_text(bucket: Any, path: str, version: FileVersion, matcher: TextMatcher) -> bool:
    """Whether a version has the text. Raises Refused for one that cannot be read."""
    if version.size > LARGEST:
        raise Refused(path, "it is too large")
    try:
        raw = bucket.get_version(path, version, max_bytes=LARGEST)
    except RemoteMissing:
        return False
    return matcher.is_in_bytes(raw)


# --- The hosts ---


def _ask_hosts(ledger: Ledger, visit: Visit) -> list[str]:
    """Ask the hosts to delete their local copies. Returns which hosts have one."""
    vault = visit.lease.vault
    ledger.ask_to_erase(vault)
    own = command_host(visit.scratch.folder.parent)
    return [host for host in ledger.scratches(vault) if host != own]


def _silent_hosts(ledger: Ledger, visit: Visit, asked: Collection[str]) -> list[str]:
    """Wait for the hosts to delete their local copies. Returns those that have not done so."""
    deadline = time.monotonic() + HOST_SECONDS
    while True:
        silent = [host for host in ledger.scratches(visit.lease.vault) if host in asked]
        if not silent or time.monotonic() > deadline:
            return silent
        time.sleep(PAUSE_SECONDS)
