"""Copies a local vault into the empty home of a fleet. The local vault stays as it is.

Each file is created, and none is replaced. A copy that was interrupted goes on when it is made
again. The bundle comes last: until then the home is a folder with notes.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from vault_memory.addons.fleet.bundle import LARGEST, Bundle, BundleOwner, collect, unpack
from vault_memory.addons.fleet.bundle_store import NAME, NO_TAG, BundleStore
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger_errors import VaultAddedTwice
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.remote.contract import Remote
from vault_memory.remote.remote_errors import RemoteChanged, RemoteMissing
from vault_memory.sync.plan.sync_exclusions import junk
from vault_memory.vault.reader import Folder
from vault_memory.vault.write.create import write_copy

BEFORE = 0
"""The epoch before the first lease"""
_NEVER = datetime.min.replace(tzinfo=UTC)


class HomeInUse(UsageError):
    """The home has other files than the vault that should be copied into it."""

    http_status = 409

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the home has another file `{path}` than the vault; nothing was replaced",
            hint="name an empty folder with `--home`",
            path=path,
        )


class CopyIncomplete(VaultMemoryError):
    """The home does not list all files that were copied."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the home does not list `{path}` as it was copied",
            hint="run the command again; the local vault is as it was",
            path=path,
        )


class CopiedFile(NamedTuple):
    """A file of the vault that is in the home now."""

    path: str
    size: int


class VaultInHome(NamedTuple):
    """Whose vault gets which home."""

    name: str
    owner: BundleOwner
    home: str


@dataclass(frozen=True, slots=True)
class VaultCopy:
    """A copy of one vault into one home."""

    remote: Remote
    target: VaultInHome

    def check_home(self) -> None:
        """Check that no fleet uses the home. Raises AnotherFleet, VaultAddedTwice, BundleNewer."""
        try:
            fetched = self.remote.get(NAME, max_bytes=LARGEST)
        except RemoteMissing:
            return
        # Fault: two fleets that write to one home would take each other's bundles for their own.
        bundle = unpack(fetched.raw, self.target.owner)
        if bundle.epoch:
            raise VaultAddedTwice(self.target.name)

    def copy(self, folder: Folder, state: Path) -> list[CopiedFile]:
        """Copy notes and bundle, and compare the listing. Raises UsageError, HomeInUse, CopyIncomplete."""
        paths = self._paths(folder)
        copied = list(self._copy_files(folder, paths))
        self._verify(copied)
        self._store_bundle(collect(state, self.target.owner, BEFORE))
        return copied

    def mark_home(self) -> None:
        """Store a bundle without parts: a home that has nothing, not even that, is gone."""
        self._store_bundle(Bundle(self.target.owner, BEFORE, ()))

    def _paths(self, folder: Folder) -> list[str]:
        """Return the files that are copied. Raises UsageError for one that the home refuses."""
        listing = folder.listing(suffixes=("",))
        paths = []
        for path in sorted((*listing.entries, *listing.copies)):
            if junk(path.rpartition("/")[2]):
                continue
            # Fault: the vault would be served without a note, and the operator would not know.
            reason = self.remote.refuses(path)
            if reason:
                raise UsageError(
                    f"the home cannot have the file {path!r}: {reason}; nothing was copied",
                    hint="rename the file, or move it out of the vault",
                )
            paths.append(path)
        return paths

    def _copy_files(self, folder: Folder, paths: list[str]) -> Iterator[CopiedFile]:
        made: set[str] = set()
        for path in paths:
            self._make_folders(path, made)
            raw = folder.read(path, max_bytes=LARGEST).raw
            self._create(path, raw)
            yield CopiedFile(path, len(raw))

    def _make_folders(self, path: str, made: set[str]) -> None:
        if not self.remote.traits.parents:
            return
        names = path.split("/")[:-1]
        for count in range(1, len(names) + 1):
            folder = "/".join(names[:count])
            if folder in made:
                continue
            made.add(folder)
            try:
                self.remote.mkcol(folder)
            except RemoteChanged:
                # It was made before.
                continue

    def _create(self, path: str, raw: bytes) -> None:
        try:
            self.remote.put(path, raw, expected=None)
        except RemoteChanged:
            # An interrupted copy has stored it, or it is another file.
            fetched = self.remote.get(path, max_bytes=LARGEST)
            if _digest(fetched.raw) != _digest(raw):
                raise HomeInUse(path) from None

    def _verify(self, copied: list[CopiedFile]) -> None:
        sizes = dict(files_of(self.remote))
        for file in copied:
            # Fault: a store that accepts a write and does not keep it.
            if sizes.get(file.path) != file.size:
                raise CopyIncomplete(file.path)

    def _store_bundle(self, bundle: Bundle) -> None:
        target = self.target
        lease = Lease(target.owner.vault, target.home, BEFORE, until=_NEVER)
        store = BundleStore(self.remote, target.owner, lease)
        fetched = store.fetch()
        tag = NO_TAG if fetched is None else fetched[1]
        store.put(bundle, tag)


def vault_in(remote: Remote, fleet: BundleOwner) -> str:
    """The id of the vault that the fleet has in a home; "" for a new home. Raises AnotherFleet."""
    try:
        fetched = remote.get(NAME, max_bytes=LARGEST)
    except RemoteMissing:
        return ""
    return unpack(fetched.raw, fleet).owner.vault


def files_of(remote: Remote, folder: str = "") -> Iterator[tuple[str, int]]:
    """Yield path and size of each file of a home."""
    is_deep = remote.traits.infinity
    for entry in remote.list(folder, deep=is_deep).entries:
        if not entry.is_folder:
            yield entry.path, entry.size
        elif not is_deep:
            yield from files_of(remote, entry.path)


def left_alone(remote: Remote, folder: Path) -> Iterator[str]:
    """Yield the files of a home that a folder lacks: sync leaves those alone that are large."""
    for path, _ in files_of(remote):
        names = path.split("/")
        # Fault: a name could lead out of the folder.
        is_safe = not any(name in ("", ".", "..") or junk(name) for name in names)
        if is_safe and not os.path.lexists(folder / path):
            yield path


def fetch_missing(remote: Remote, folder: Path) -> None:
    """Fetch the files of a home that a folder lacks."""
    for path in left_alone(remote, folder):
        write_copy(folder / path, remote.get(path, max_bytes=LARGEST).raw)


def _digest(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
