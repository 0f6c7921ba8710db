"""A visit: one host holds one vault, works on its scratch, and brings the result home.

The scratch follows the home by the sync engine. What is not in notes travels in the bundle.
Acknowledged operations of an earlier holder are replayed. A flush sends the notes, then their
audit files, then the bundle, and then the ledger forgets the operations. Each write names what
it replaces. Whatever the lease says, a home that has changed stops a visit.

While the home does not answer, a visit can begin on the scratch of an earlier one. It reads from
there, and never writes to the home: the visit after it does, once the home answers.
"""

import contextlib
import logging
import threading
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from vault_memory import config as configuration
from vault_memory.addons.fleet import acknowledged_ops, due
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp, Answer
from vault_memory.addons.fleet.bundle import BundleOwner, Signature, collect, install, signature_of
from vault_memory.addons.fleet.bundle_store import NO_TAG, BundleStore, BundleTag
from vault_memory.addons.fleet.fleet_errors import HomeChanged
from vault_memory.addons.fleet.home_link import HomeLink
from vault_memory.addons.fleet.kept_ops import KeptOps
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.addons.fleet.scratch import Scratch, ScratchRecord
from vault_memory.addons.fleet.visit_settings import VisitSettings
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.remote.remote_errors import RemoteError
from vault_memory.search.note_reports import list_notes

logger = logging.getLogger(__name__)

REFUSED = "the vault refuses an acknowledged operation"
# What a flush brought home.


class FlushReport(NamedTuple):
    """What a flush did."""

    is_complete: bool
    """whether the home has all that the scratch has"""
    uploaded: int = 0
    stored_bundle: bool = False


class Visit:
    """One vault, held under one lease. Any thread may call it; calls wait for one another."""

    def __init__(self, lease: Lease, ledger: Ledger, settings: VisitSettings) -> None:
        """Use `Visit.open` instead."""
        vault = lease.vault.replace("-", "")
        self.lease = lease
        self.scratch = Scratch(settings.scratch, vault)
        self.lost = False
        """whether another host holds the vault by now: nothing is written any more"""
        self.away: RemoteError | None = None
        """why the visit began without the home; None: it began with it"""
        self.is_behind = False
        """whether another host may have written since the scratch was used"""
        self._ledger = ledger
        self._settings = settings
        self._lock = threading.RLock()
        self._home = HomeLink(lease, self.scratch, settings)
        self._owner = BundleOwner(vault, ledger.fleet, ledger.secret)
        self._record = ScratchRecord()
        self._signature: Signature = ()
        self._stale: tuple[str, ...] = ()
        """all notes, while the home does not answer"""
        self._ops = KeptOps(lease, ledger)
        self._changers = 0
        """how many callers change the vault at this moment"""
        self._memory: VaultMemory | None = None

    @classmethod
    def open(
        cls, lease: Lease, ledger: Ledger, settings: VisitSettings, *, now: datetime | None = None
    ) -> "Visit":
        """Bring the scratch up to date with the home, the bundle and the ledger.

        Raises LeaseLost, BundleNewer, AnotherFleet, BundleDamaged, HomeChanged, RemoteErrors,
        LedgerAway, ConfigError. Then the vault is closed, and the scratch stays.
        """
        visit = cls(lease, ledger, settings)
        try:
            visit._arrive(now or datetime.now(UTC))
        except BaseException as error:
            visit._stop(is_lost=isinstance(error, LeaseLost))
            raise
        return visit

    @classmethod
    def open_away(
        cls, lease: Lease, ledger: Ledger, settings: VisitSettings, reason: RemoteError
    ) -> "Visit":
        """Open the scratch of an earlier visit, without the home. All notes are stale.

        Raises `reason` without such a scratch, LeaseLost, LedgerAway, ConfigError.
        """
        visit = cls(lease, ledger, settings)
        try:
            visit._begin_away(reason)
        except BaseException as error:
            visit._stop(is_lost=isinstance(error, LeaseLost))
            raise
        return visit

    @property
    def memory(self) -> VaultMemory:
        """The open vault. Raises LeaseLost once another host holds it."""
        if self.lost or self._memory is None:
            raise LeaseLost(self.lease)
        return self._memory

    @property
    def requests(self) -> int:
        """How many requests the home got."""
        return self._home.remote.traffic.requests

    @property
    def bundles(self) -> BundleStore:
        """The bundle in the home, with its earlier versions."""
        home = self._home.reconnected()
        return BundleStore(home, self._owner, self.lease, self._is_current)

    def _is_current(self) -> bool:
        """Whether this lease is the newest one."""
        return self.lease.vault in self._ledger.renew([self.lease])

    # --- Work ---

    @contextlib.contextmanager
    def changing(self) -> Iterator[VaultMemory]:
        """Change the vault while operations and flushes go on. The next complete `flush` makes it safe."""
        with self._lock:
            memory = self.memory
            self._mark_dirty()
            self._changers += 1
        try:
            yield memory
        finally:
            with self._lock:
                self._changers -= 1

    def run(self, op: AcknowledgedOp, *, again: bool = False) -> Answer:
        """Execute an operation, and keep it in the ledger: then its answer is final.

        `again`: the caller asks a second time, after a lost answer. A turn of a private conversation
        is not kept anywhere. Raises the errors of the call, LeaseLost, LedgerAway: after the latter,
        the operation may be done or not. Raises VaultUnavailable, and has done nothing, where the
        scratch is too old for it.
        """
        if self.is_behind:
            return self._keep_unexecuted(op)
        with self._lock, self.changing() as memory:
            op = acknowledged_ops.with_owner(memory, op)
            answer = None
            if again:
                answer = acknowledged_ops.recorded_answer(memory, op)
            if answer is None:
                answer = acknowledged_ops.execute(memory, op, again=again)
            note = answer.note
            if note is None:
                return answer
            if op.call != "record":
                outcome = acknowledged_ops.outcome_of(memory, op, note)
                op = replace(op, outcome=outcome)
            self._ops.keep(op)
            return answer

    def _keep_unexecuted(self, op: AcknowledgedOp) -> Answer:
        """Keep an operation for the next visit with the home. Raises VaultUnavailable."""
        with self._lock:
            # Fault: another host has written since. What an edit does depends on that text.
            answer = acknowledged_ops.answer_ahead(self.memory, op)
            if answer is None:
                raise VaultUnavailable
            if answer.note is not None:
                self._ops.keep(op, waits_for=answer.note)
            return answer

    # --- The way home ---

    def flush(self, now: datetime | None = None, *, follow: bool = False) -> FlushReport:
        """Bring the scratch home. With `follow`, look for edits of people in the home, too.

        Without, nothing is asked where nothing has changed. Raises LeaseLost, HomeChanged,
        RemoteErrors, LedgerAway. A visit that began without the home raises why.
        """
        with self._lock:
            # Fault: the scratch may be older than the home, and would count as newer.
            if self.away is not None:
                raise self.away
            try:
                report = self._flush(now or datetime.now(UTC), follow=follow)
            except LeaseLost:
                self._stop(is_lost=True)
                raise
            except RemoteError:
                self._note_away()
                raise
            if follow:
                self.memory.refresh()
            return report

    def leave(self, now: datetime | None = None) -> due.NextVisit:
        """Flush, close the vault and give the lease back. Returns when the next visit is due.

        Raises as `flush`: the vault is closed, and the lease runs out.
        """
        with self._lock:
            moment = now or datetime.now(UTC)
            try:
                report = self.flush(moment)
                next_visit = due.next_visit(
                    self.memory,
                    moment,
                    vault=self.lease.vault,
                    is_waiting=self._home.is_waiting or not report.is_complete,
                )
                # Fault: an operation that waits makes a vault due at once. One that is refused
                # each time would keep the hosts busy.
                refused = self._ops.first_refused is not None
                trouble = REFUSED if refused else ""
                self._ledger.give_back(self.lease, next_visit.moment, trouble)
            finally:
                self._stop(is_lost=self.lost)
            return next_visit

    def close(self) -> None:
        """Close the vault without a flush."""
        with self._lock:
            self._stop(is_lost=self.lost)

    # --- Arrival ---

    def look_for_home(self) -> None:
        """Ask the home of a visit that began without it. Raises RemoteErrors."""
        self._home.list()

    def _arrive(self, now: datetime) -> None:
        self._take_scratch()
        tag = self._follow_bundle()
        self._memory = self._opened()
        self._home.has_newer_texts = tag.etag != self._record.bundle_etag
        if self._home.has_newer_texts:
            self._adopt_texts(self._memory, now)
        if self._record.is_dirty:
            # Fault: killed between an audit file and its note, the next host would take the
            # change for done, and the note would not have it.
            self._home.send_notes(self._memory, now)
        else:
            self._home.follow(self._memory, now)
        self._home.has_newer_texts = False
        if not self.scratch.has_index():
            # The first notes decide which layout the vault has.
            self._memory.close()
            self._memory = self._opened()
        self._write_record(
            epoch=self.lease.epoch, bundle_etag=tag.etag, bundle_modified=tag.modified
        )
        self._signature = signature_of(self.scratch.state)
        self._replay_kept()
        self._memory.refresh()

    def _begin_away(self, reason: RemoteError) -> None:
        if self.scratch.is_complete():
            self._take_scratch()
        # It may have been set aside just now.
        if not self.scratch.is_complete():
            raise reason
        self.away = reason
        self.is_behind = self._record.epoch != self.lease.epoch
        self._memory = self._opened()
        if not self.is_behind:
            # No other host has held the vault since: it is as if this host had never let go.
            self._replay_kept()
        self._memory.refresh()
        self._note_away()

    def _take_scratch(self) -> None:
        """Use the scratch of an earlier lease, where it is safe."""
        record = self.scratch.record()
        is_newest = self.lease.epoch <= record.epoch + 1
        # Fault: this host was killed with changes that the home lacks, and another one has replayed
        # them since. Merged, they could be there twice.
        if record.is_dirty and not is_newest:
            aside = self.scratch.set_aside()
            logger.warning("an old scratch is set aside: %s", aside.name)
            record = ScratchRecord()
        self.scratch.prepare()
        self._record = record
        # Fault: the home is away at this visit and at the next. Then the scratch would seem to
        # have what other hosts wrote in between.
        if is_newest:
            self._write_record(epoch=self.lease.epoch)

    def _replay_kept(self) -> None:
        waiting = self._ops.waiting()
        if waiting:
            self._mark_dirty()
            self._ops.replay(self.memory, waiting)

    def _follow_bundle(self) -> BundleTag:
        """Install the bundle of the home, if it is another one. Returns its version."""
        previous = BundleTag(self._record.bundle_etag, self._record.bundle_modified)
        listing = self._home.list()
        if listing is None:
            return previous
        # Fault: the home was emptied. A host without a copy would serve an empty vault.
        if not listing.entries:
            raise HomeChanged("it is empty")
        tag = self.bundles.tag_in(listing)
        if tag.etag == previous.etag:
            return tag
        fetched = self.bundles.fetch()
        if fetched is None:
            return NO_TAG
        bundle, tag = fetched
        is_own = self._record.is_dirty and bundle.epoch == self.lease.epoch - 1
        # Fault: this host was killed after it had stored its bundle. The scratch is not older.
        if not is_own:
            # Fault: killed in the middle, the next visit has to install it again.
            self._write_record(bundle_etag="", fingerprint="")
            install(bundle, self.scratch.state)
        self._write_record(fingerprint=bundle.fingerprint)
        return tag

    def _adopt_texts(self, memory: VaultMemory, now: datetime) -> None:
        """Note in a journal of another host which texts of notes this scratch has."""
        folder = memory.vault.folder
        with memory.edits.transaction():
            snapshots = memory.edits.editor.writer.snapshots
            texts: list[tuple[str, bytes]] = []
            for path in folder.listing().entries:
                head = snapshots.head(path)
                if head is None:
                    continue
                try:
                    note = folder.read(path)
                except VaultMemoryError:
                    # Fault: one unreadable note must not keep the vault closed.
                    continue
                # Fault: the text is older than the journal. It would count as a save of a person
                # who deletes what the bot has written since.
                if note.revision != head.revision:
                    texts.append((path, note.raw))
            if texts:
                snapshots.record_all(texts, at=now.timestamp(), by="sync")

    def _opened(self) -> VaultMemory:
        environment = {
            **self._settings.environment,
            "VAULT_MEMORY_STATE": str(self.scratch.state_root),
        }
        file = self.scratch.state / "vault-memory.toml"
        loaded = configuration.load(file if file.exists() else None, environment)
        config = self._settings.configure(loaded)
        config = config._replace(remote=self._home.settings)
        memory = VaultMemory.open(self.scratch.root, config, environment=environment)
        memory.searcher.unread_notes = self._unread_notes
        memory.sync.open_remote = lambda settings, password: self._home.reconnected()
        return memory

    # --- Flush ---

    def _flush(self, now: datetime, *, follow: bool) -> FlushReport:
        memory = self.memory
        if not self._is_current():
            raise LeaseLost(self.lease)
        self._replay_kept()
        memory.edits.process_due(now)
        self._ops.note_outcomes(memory)
        is_clean = not self._record.is_dirty
        is_clean = is_clean and not self._home.count_waiting(memory, now)
        if is_clean and not follow:
            stored = self._has_new_state() and self._send_bundle()
            return FlushReport(is_complete=True, stored_bundle=stored)
        if not is_clean:
            self._mark_dirty()
        last_seq = self._ops.last_seq()
        self._check_home()
        uploaded = self._home.send_notes(memory, now)
        waiting = self._home.count_waiting(memory, now)
        has_state = not is_clean or self._has_new_state()
        # Fault: the journal in the bundle has the records of operations. Without their notes in the
        # home, the next host would take them for done.
        is_ahead = waiting and self._ops.has_executed
        stored = has_state and not is_ahead and self._send_bundle()
        if waiting:
            return FlushReport(False, uploaded, stored)
        self._ops.fold(last_seq)
        # Fault: what a caller writes during a flush is not in the home.
        is_changing = self._changers > 0
        self._write_record(is_dirty=is_changing or self._ops.first_refused is not None)
        return FlushReport(True, uploaded, stored)

    def _note_away(self) -> None:
        """Name all notes as stale: people may have saved in the home, which does not answer."""
        self._stale = self._stale or self._all_notes()

    def _all_notes(self) -> tuple[str, ...]:
        with self.memory.vault.lock:
            notes = list_notes(self.memory.vault.indexing.index(), None)
        return tuple(note.note for note in notes)

    def _unread_notes(self) -> Collection[str]:
        """Return the notes that may be newer than what a search reads."""
        # Fault: an acknowledged operation waits, and a search would find nothing.
        every = self._all_notes() if self._ops.missing_notes else self._stale
        return {*self._ops.missing_notes, *every, *self._home.behind}

    def _check_home(self) -> None:
        """List the home. Raises LeaseLost when it has the bundle of another host."""
        listing = self._home.list()
        self._stale = ()
        if listing is not None:
            etag = self.bundles.tag_in(listing).etag
            # Fault: a host slept beyond its lease, and another one has written since.
            if etag != self._record.bundle_etag:
                raise LeaseLost(self.lease)

    def _has_new_state(self) -> bool:
        """Whether a file of the bundle may have changed."""
        return self._signature != signature_of(self.scratch.state)

    def _send_bundle(self) -> bool:
        """Store the bundle if a part of it has changed. Returns whether it was stored."""
        signature = signature_of(self.scratch.state)
        bundle = collect(self.scratch.state, self._owner, self.lease.epoch)
        self._signature = signature
        if self._record.bundle_etag and bundle.fingerprint == self._record.fingerprint:
            return False
        replaced = BundleTag(self._record.bundle_etag, self._record.bundle_modified)
        tag = self.bundles.put(bundle, replaced)
        self._write_record(
            bundle_etag=tag.etag, bundle_modified=tag.modified, fingerprint=bundle.fingerprint
        )
        return True

    # --- Helpers ---

    def _mark_dirty(self) -> None:
        if self._record.is_dirty:
            return
        record = replace(self._record, is_dirty=True)
        # Fault: the disk is full. A change after that would be one without the mark.
        self.scratch.write_record(record)
        self._record = record

    def _write_record(self, **changes: int | str | bool) -> None:
        self._record = replace(self._record, **changes)  # type: ignore[arg-type]
        self.scratch.write_record(self._record)

    def _stop(self, *, is_lost: bool) -> None:
        """Close the vault and the home. The scratch stays as it is, for a comparison."""
        self.lost = is_lost
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
        self._home.remote.close()
