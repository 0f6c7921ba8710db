"""Passes of sync between a scratch and its home, in the order that a replay relies on."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from vault_memory.addons.fleet.fleet_errors import HomeChanged
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.scratch import Scratch
from vault_memory.addons.fleet.visit_settings import VisitSettings, server_of
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.remote_password import password_of
from vault_memory.edits.record_cache import note_of
from vault_memory.remote.contract import (
    Capabilities,
    Entry,
    Fetched,
    FileVersion,
    PutResult,
    Remote,
    RemoteListing,
    ServerIdentity,
    Traffic,
)
from vault_memory.remote.remote_errors import NotUnderstood, RemoteBusy, RemoteUnreachable
from vault_memory.sync import connection as sync_connection
from vault_memory.sync.observe.remote_scan import ROOT_TAG
from vault_memory.sync.pass_report import PassOptions, PassReport
from vault_memory.sync.state_db import open_state
from vault_memory.vault.audit_folders import AUDIT_NAME

PATIENCE_SECONDS = 5.0
"""How long a pass waits for another process that syncs the same scratch"""
MOST_PASSES = 6
"""Of one visit or flush: each resolves what the one before met"""
SETTLED = timedelta(minutes=1)
"""Added to the clock of a pass: no editor saves files of a scratch, so none is half a save. Longer
than most passes: their own writes would look like saves, and be fetched a second time"""
LATER = "its note goes first"
"""Why an audit file rests in the first pass of a flush"""


# --- Listed remote ---

# A home that is listed once for two readers: the sync engine, and the look for a new bundle.


class ListedRemote:
    """Passes each call on to a remote. An answer of `prefetch` serves one later call, too."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.kind = remote.kind
        self.traffic: Traffic = remote.traffic
        self.is_closed = False
        self._root: Entry | None = None
        self._listing: RemoteListing | None = None

    @property
    def traits(self) -> Capabilities:
        return self._remote.traits

    @traits.setter
    def traits(self, traits: Capabilities) -> None:
        self._remote.traits = traits

    def prefetch(self, last_tag: str) -> RemoteListing | None:
        """List the home, or return None when the tag of the whole tree is still `last_tag`.

        The next `look("")` and `list("")` return what was seen, without another request.
        """
        self.forget_prefetched()
        if self.traits.recursive_etags and last_tag:
            root = self._remote.look("")
            self._root = root
            if root.etag == last_tag:
                return None
        self._listing = self._remote.list("", deep=self.traits.infinity)
        return self._listing

    def forget_prefetched(self) -> None:
        """Ask the server again at the next call."""
        self._root = self._listing = None

    def identity(self, root: Entry | None = None) -> ServerIdentity:
        return self._remote.identity(root)

    def list(self, folder: str = "", *, deep: bool = False) -> RemoteListing:
        listing, self._listing = self._listing, None
        if listing is not None and not folder and deep == self.traits.infinity:
            return listing
        return self._remote.list(folder, deep=deep)

    def look(self, path: str) -> Entry:
        if not path and self._root is not None:
            root, self._root = self._root, None
            return root
        return self._remote.look(path)

    def get(self, path: str, *, max_bytes: int) -> Fetched:
        return self._remote.get(path, max_bytes=max_bytes)

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        return self._remote.put(path, raw, expected=expected, after=after)

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        return self._remote.put_new(files)

    def delete(self, path: str, *, expected: str) -> None:
        self._remote.delete(path, expected=expected)

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        return self._remote.move(path, to, expected=expected)

    def mkcol(self, path: str) -> PutResult:
        return self._remote.mkcol(path)

    def rmcol(self, path: str) -> None:
        self._remote.rmcol(path)

    def rmtree(self, path: str) -> None:
        self._remote.rmtree(path)

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        return self._remote.versions(path, fileid=fileid)

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        return self._remote.get_version(path, version, max_bytes=max_bytes)

    def refuses(self, path: str) -> str | None:
        return self._remote.refuses(path)

    def probe(self) -> Capabilities:
        return self._remote.probe()

    def tidy(self) -> None:
        self._remote.tidy()

    def close(self) -> None:
        self.is_closed = True
        self._remote.close()


# --- Home link ---


class HomeLink:
    """The home of one vault, for one visit."""

    def __init__(self, lease: Lease, scratch: Scratch, settings: VisitSettings) -> None:
        """Open the home, without a request. Raises ConfigError."""
        self.settings = settings.remote._replace(url=lease.home)
        self.is_waiting = False
        """whether the last pass left paths that a later one decides about"""
        self.has_newer_texts = False
        """whether another host has written to the home since the scratch was used"""
        self.behind: frozenset[str] = frozenset()
        """paths of which the last pass did not bring the text of the home"""
        self._scratch = scratch
        self._visit_settings = settings
        self._server = server_of(lease.home)
        self.remote = self._connected()

    def reconnected(self) -> ListedRemote:
        """The home; opened again after it was closed."""
        if self.remote.is_closed:
            self.remote = self._connected()
        return self.remote

    def list(self) -> RemoteListing | None:
        """List the home once for the caller and the next pass; None: nothing has changed in it."""
        self.reconnected()
        return self.remote.prefetch(self._load_sync_facts())

    def follow(self, memory: VaultMemory, now: datetime) -> None:
        """Bring the scratch up to date. Raises HomeChanged, RemoteErrors."""
        report = self._pass(memory, now)
        for _ in range(MOST_PASSES):
            if report.quiet or report.settled or not report.acted:
                break
            report = self._pass(memory, now)
        self.is_waiting = bool(report.waiting)
        self._visit_settings.capabilities[self._server] = self.remote.traits

    def send_notes(self, memory: VaultMemory, now: datetime) -> int:
        """Send the notes, then their audit files. Returns how many files were sent."""
        listing = memory.vault.folder.listing(suffixes=(".jsonl",))
        audits = [path for path in listing.entries if AUDIT_NAME.fullmatch(path)]
        resting = dict.fromkeys(audits, LATER)
        report = self._pass(memory, now, resting=resting)
        uploaded = report.uploaded
        is_asked = False
        for _ in range(MOST_PASSES):
            # Fault: the home refuses a note. With its record there, the next host would take the
            # change for done.
            behind = _paths_behind(report)
            resting = {path: LATER for path in audits if note_of(path) in behind}
            report = self._pass(memory, now, ask=is_asked, resting=resting)
            uploaded += report.uploaded
            if report.quiet or report.settled:
                break
            is_asked = True
        self.is_waiting = bool(report.waiting)
        return uploaded

    def count_waiting(self, memory: VaultMemory, now: datetime) -> int:
        """Count the files that the home does not have like this, without asking it."""
        return memory.sync.connection().count_waiting(now + SETTLED)

    def _pass(
        self,
        memory: VaultMemory,
        now: datetime,
        *,
        ask: bool = True,
        resting: Mapping[str, str] | None = None,
    ) -> PassReport:
        """Run one pass of sync. Raises HomeChanged where it would do nothing."""
        options = PassOptions(
            ask=ask,
            resting=resting or {},
            # Fault: the journal in the bundle knows the texts of the home, and the scratch has older
            # ones. The newer texts would count as those of a backup, and be held.
            approve_restore=self.has_newer_texts,
        )
        with sync_connection.alone(self._scratch.state, patience=PATIENCE_SECONDS):
            report = memory.sync.connection().run_pass(now + SETTLED, options)
        if report.halted:
            raise HomeChanged(report.halted)
        reasons = (*report.held, *report.waiting, *report.failed)
        self.behind = frozenset(path for path, _ in reasons)
        return report

    def _connected(self) -> ListedRemote:
        environment = self._visit_settings.environment
        password = password_of(self.settings, environment, self._scratch.root)
        return ListedRemote(self._visit_settings.open_remote(self.settings, password))

    def _load_sync_facts(self) -> str:
        """Give the remote the capabilities of its server. Returns the last tag of the tree."""
        state = open_state(self._scratch.state)
        try:
            traits = state.meta("traits")
            cached = self._visit_settings.capabilities.get(self._server)
            if isinstance(traits, dict):
                with contextlib.suppress(TypeError):
                    cached = Capabilities(**traits)
            if cached is not None:
                self.remote.traits = cached
                with state.transaction():
                    state.set_meta("traits", asdict(cached))
            return str(state.meta(ROOT_TAG) or "")
        finally:
            state.close()


def is_away(error: Exception) -> bool:
    """Whether an error says that the home does not answer now, and nothing else about it."""
    match error:
        case RemoteUnreachable() | RemoteBusy():
            return True
        case NotUnderstood():
            return error.is_silence
    return False


def _paths_behind(report: PassReport) -> set[str]:
    """Return the paths that a pass did not bring home."""
    reasons = (*report.failed, *report.waiting, *report.held, *report.skipped)
    return {path for path, _ in reasons}
