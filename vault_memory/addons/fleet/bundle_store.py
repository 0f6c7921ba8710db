"""Keeps the bundle of a vault in its home, beside the notes.

The name is hidden, so that sync, listings of notes and other programs leave it alone: Nextcloud's
client skips names with ``.~``. Each write names the version that it replaces. A version that is
no longer there means that another host holds the vault.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from vault_memory.addons.fleet.bundle import LARGEST, Bundle, BundleOwner, pack, unpack
from vault_memory.addons.fleet.fleet_errors import BundleDamaged
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.remote.contract import Fetched, FileVersion, Remote, RemoteListing
from vault_memory.remote.remote_errors import OutcomeUnknown, RemoteChanged, RemoteMissing

NAME = ".vault-memory.~bundle"
"""Of the object in the home"""


class BundleTag(NamedTuple):
    """The version of the object in the home."""

    etag: str
    """"" when the home has none"""
    modified: int = 0
    """in Unix seconds, by the server's clock; 0 when unknown"""


NO_TAG = BundleTag("")


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class BundleStore:
    """The bundle of one vault, for the holder of its lease."""

    remote: Remote
    owner: BundleOwner
    lease: Lease
    is_current: Callable[[], bool] = _never
    """asks the ledger whether the lease is the newest one"""

    def tag_in(self, listing: RemoteListing) -> BundleTag:
        """Return the version that a listing of the home shows."""
        for entry in listing.entries:
            if entry.path == NAME and not entry.is_folder:
                return BundleTag(entry.etag, entry.modified)
        return NO_TAG

    def fetch(self) -> tuple[Bundle, BundleTag] | None:
        """Fetch the bundle; None when the home has none.

        Raises LeaseLost for one of a later lease, BundleNewer, AnotherFleet, BundleDamaged.
        """
        try:
            fetched = self.remote.get(NAME, max_bytes=LARGEST)
        except RemoteMissing:
            return None
        bundle = unpack(fetched.raw, self.owner)
        # Fault: a host slept beyond its lease. Another one has written since. But a ledger that
        # was restored counts from an older epoch, and its newest lease has to go on.
        if bundle.epoch > self.lease.epoch and not self.is_current():
            raise LeaseLost(self.lease)
        return bundle, BundleTag(fetched.etag, fetched.modified)

    def put(self, bundle: Bundle, replaced: BundleTag) -> BundleTag:
        """Store a bundle in place of that version. Raises LeaseLost when another one is there."""
        raw = pack(bundle)
        try:
            result = self.remote.put(
                NAME, raw, expected=replaced.etag or None, after=replaced.modified
            )
        except RemoteChanged:
            raise LeaseLost(self.lease) from None
        except OutcomeUnknown:
            # Fault: the connection broke, and the home may have the bundle or not.
            fetched = self._fetched()
            if fetched.raw == raw:
                return BundleTag(fetched.etag, fetched.modified)
            if fetched.etag == replaced.etag:
                raise
            raise LeaseLost(self.lease) from None
        if result.etag:
            return BundleTag(result.etag, result.modified)
        fetched = self._fetched()
        if fetched.raw != raw:
            raise LeaseLost(self.lease)
        return BundleTag(fetched.etag, fetched.modified)

    def _fetched(self) -> Fetched:
        """Return the object; one without bytes and tag where the home has none."""
        try:
            return self.remote.get(NAME, max_bytes=LARGEST)
        except RemoteMissing:
            return Fetched(b"", "")

    def earlier_versions(self) -> Iterator[tuple[FileVersion, bytes]]:
        """Yield the versions that the home keeps, with their bytes, where they can be read.

        A remote can list and read them, and has no call that deletes one. So a text that is
        forgotten stays in them until the home deletes them: the receipt has to name them.
        """
        for version in self.remote.versions(NAME):
            try:
                raw = self.remote.get_version(NAME, version, max_bytes=LARGEST)
            except RemoteMissing:
                continue
            yield version, raw

    def read_version(self, raw: bytes) -> Bundle | None:
        """Return the bundle of an earlier version; None when it cannot be read."""
        try:
            return unpack(raw, self.owner)
        except BundleDamaged:
            return None
