"""A visit: one host holds one vault, works on its scratch, and brings the result home.

The scratch follows the home by the sync engine. What is not in notes travels in the bundle.
Acknowledged operations of an earlier holder are replayed. A flush sends the notes, then their
audit files, then the bundle, and then the ledger forgets the operations. Each write names what
it replaces. Whatever the lease says, a home that has changed stops a visit.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from vault_memory import config as configuration
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultMemoryError
from vault_memory.hosting.fleet import acknowledged_ops, due
from vault_memory.hosting.fleet.acknowledged_ops import AcknowledgedOp, Answer
from vault_memory.hosting.fleet.bundle import (
    BundleOwner,
    Signature,
    collect,
    install,
    signature_of,
)
from vault_memory.hosting.fleet.bundle_store import NO_TAG, BundleStore, BundleTag
from vault_memory.hosting.fleet.home_link import HomeLink
from vault_memory.hosting.fleet.op_replay import OpReplay
from vault_memory.hosting.fleet.scratch import Scratch, ScratchRecord
from vault_memory.hosting.fleet.visit_settings import VisitSettings
from vault_memory.ledger.contract import Lease, LeaseLost, Ledger
from vault_memory.remote.remote_errors import RemoteError
from vault_memory.search.index_counts import list_notes

logger = logging.getLogger(__name__)

REFUSED = "the vault refuses an acknowledged operation"


class FlushReport(NamedTuple):
    """What a flush did."""

    is_complete: bool
    """whether the home has all that the scratch has"""
    uploaded: int = 0
    stored_bundle: bool = False


class Visit:
    """One vault, held under one lease. Any thread may call it; calls wait for one another."""

    def __init__(
        self,
        lease: Lease,
        ledger: Ledger,
        settings: VisitSettings,
    ) -> None:
        """Use `Visit.open` instead."""
        vault = lease.vault.replace("-", "")
        self.lease = lease
        self.scratch = Scratch(settings.scratch, vault)
        self.lost = False
        """whether another host holds the vault by now: nothing is written any more"""
        self._ledger = ledger
        self._settings = settings
        self._lock = threading.RLock()
        self._home = HomeLink(lease, self.scratch, settings)
        self._owner = BundleOwner(vault, ledger.fleet, ledger.secret)
        self._record = ScratchRecord()
        self._signature: Signature = ()
        self._stale: tuple[str, ...] = ()
        """all notes, while the home does not answer"""
        self._executed: dict[int, AcknowledgedOp] = {}
        """operations whose effect is in the scratch, by their place in the ledger"""
        self._first_refused: int | None = None
        self._changers = 0
        """how many callers change the vault at this moment"""
        self._memory: VaultMemory | None = None

    @classmethod
    def open(
        cls,
        lease: Lease,
        ledger: Ledger,
        settings: VisitSettings,
        *,
        now: datetime | None = None,
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
        return BundleStore(self._home.reconnected(), self._owner, self.lease)

    # --- Work ---

    @contextlib.contextmanager
    def changing(self) -> Iterator[VaultMemory]:
        """Change the vault, e.g. for a night. What is done is safe after the next complete `flush`.

        Operations and flushes go on meanwhile.
        """
        with self._lock:
            memory = self.memory
            self._changers += 1
            self._mark_dirty()
        try:
            yield memory
        finally:
            with self._lock:
                self._changers -= 1

    def run(
        self,
        op: AcknowledgedOp,
        *,
        again: bool = False,
    ) -> Answer:
        """Execute an operation, and keep it in the ledger: then its answer is final.

        `again`: the caller asks a second time, after a lost answer. A turn of a private conversation
        is not kept anywhere. Raises the errors of the call, LeaseLost, LedgerAway: after the latter,
        the operation may be done or not.
        """
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
            seq = self._ledger.keep(self.lease.vault, op.as_bytes(), op.op_id)
            self._executed[seq] = op
            return answer

    # --- The way home ---

    def flush(
        self,
        now: datetime | None = None,
        *,
        follow: bool = False,
    ) -> FlushReport:
        """Bring the scratch home. With `follow`, look for edits of people in the home, too.

        Without, nothing is asked where nothing has changed. Raises LeaseLost, HomeChanged,
        RemoteErrors, LedgerAway.
        """
        with self._lock:
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
                refused = self._first_refused is not None
                trouble = REFUSED if refused else ""
                self._ledger.give_back(self.lease, next_visit.moment, trouble)
            finally:
                self._stop(is_lost=self.lost)
            return next_visit

    def close(self) -> None:
        """Close the vault without a flush; the scratch stays for the next lease."""
        with self._lock:
            self._stop(is_lost=self.lost)

    # --- Arrival ---

    def _arrive(self, now: datetime) -> None:
        self._take_scratch()
        tag = self._follow_bundle()
        self._memory = self._opened()
        self._home.follow(self._memory, now)
        if not self.scratch.has_index():
            # The first notes decide which layout the vault has.
            self._memory.close()
            self._memory = self._opened()
        self._write_record(bundle_etag=tag.etag, bundle_modified=tag.modified)
        self._signature = signature_of(self.scratch.state)
        self._replay_kept()
        self._memory.refresh()

    def _take_scratch(self) -> None:
        """Use the scratch of an earlier lease, where it is safe."""
        record = self.scratch.record()
        # Fault: this host was killed with changes that the home lacks, and another one has replayed
        # them since. Merged, they could be there twice.
        if record.is_dirty and self.lease.epoch > record.epoch + 1:
            aside = self.scratch.set_aside()
            logger.warning("an old scratch is set aside: %s", aside.name)
            record = ScratchRecord()
        self.scratch.prepare()
        self._record = record
        self._write_record(epoch=self.lease.epoch)

    def _follow_bundle(self) -> BundleTag:
        """Install the bundle of the home, if it is another one. Returns its version."""
        previous = BundleTag(self._record.bundle_etag, self._record.bundle_modified)
        listing = self._home.list()
        if listing is None:
            return previous
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
        memory.searcher.unread_notes = lambda: self._stale
        memory.sync.open_remote = lambda settings, password: self._home.reconnected()
        return memory

    def _replay_kept(self) -> None:
        """Do what was acknowledged, by this host or another, and is not in the scratch."""
        waiting = [
            row
            for row in self._ledger.kept(self.lease)
            if row.seq not in self._executed
        ]
        if not waiting:
            return
        self._mark_dirty()
        ops = {row.seq: _read_op(row.op, row.outcome) for row in waiting}
        replay = OpReplay(self.memory, [op for op in ops.values() if op is not None])
        for seq, op in ops.items():
            if op is None or not self._is_replayed(replay, op):
                # The operation stays in the ledger, and so do those after it.
                self._first_refused = min(seq, self._first_refused or seq)
            else:
                # Fault: the text is newer now, so the operation may have done something else.
                self._executed[seq] = self._with_outcome(seq, op)

    def _is_replayed(
        self,
        replay: OpReplay,
        op: AcknowledgedOp,
    ) -> bool:
        try:
            replay.replay(op)
        except VaultMemoryError as error:
            # Fault: one operation that the vault refuses must not stop the others.
            logger.warning("an acknowledged operation waits: %s", error.code)
            return False
        return True

    # --- Flush ---

    def _flush(
        self,
        now: datetime,
        *,
        follow: bool,
    ) -> FlushReport:
        memory = self.memory
        if self.lease.vault not in self._ledger.renew([self.lease]):
            raise LeaseLost(self.lease)
        self._replay_kept()
        memory.edits.process_due(now)
        self._note_outcomes()
        is_clean = not self._record.is_dirty and not self._home.count_waiting(
            memory, now
        )
        if is_clean and not follow:
            stored = self._has_new_state() and self._send_bundle()
            return FlushReport(is_complete=True, stored_bundle=stored)
        if not is_clean:
            self._mark_dirty()
        last_seq = self._last_seq()
        self._check_home()
        uploaded = self._home.send_notes(memory, now)
        waiting = self._home.count_waiting(memory, now)
        has_state = not is_clean or self._has_new_state()
        # Fault: the journal in the bundle has the records of operations. Without their notes in the
        # home, the next host would take them for done.
        is_ahead = waiting and self._executed
        stored = has_state and not is_ahead and self._send_bundle()
        if waiting:
            return FlushReport(False, uploaded, stored)
        if last_seq:
            self._ledger.folded(self.lease, last_seq)
        self._forget_executed(last_seq)
        # Fault: what a caller writes during a flush is not in the home.
        is_changing = self._changers > 0
        self._write_record(is_dirty=is_changing or self._first_refused is not None)
        return FlushReport(True, uploaded, stored)

    def _note_away(self) -> None:
        """Name all notes as stale: people may have saved in the home, which does not answer."""
        if self._stale:
            return
        vault = self.memory.vault
        with vault.lock:
            notes = list_notes(vault.indexing.index(), None)
        self._stale = tuple(note.note for note in notes)

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

    def _note_outcomes(self) -> None:
        """Keep what operations have written meanwhile, before any of it goes home."""
        for seq, op in self._executed.items():
            if op.call != "record" and not op.outcome.records:
                self._executed[seq] = self._with_outcome(seq, op)

    def _with_outcome(
        self,
        seq: int,
        op: AcknowledgedOp,
    ) -> AcknowledgedOp:
        """Return an operation with what it has written, which the ledger gets, too."""
        outcome = acknowledged_ops.current_outcome(self.memory, op)
        if outcome == op.outcome:
            return op
        op = replace(op, outcome=outcome)
        self._ledger.outcome(self.lease, seq, op.as_bytes())
        return op

    def _send_bundle(self) -> bool:
        """Store the bundle if a part of it has changed. Returns whether it was stored."""
        signature = signature_of(self.scratch.state)
        state = self.scratch.state
        bundle = collect(state, self._owner, self.lease.epoch)
        self._signature = signature
        if self._record.bundle_etag and bundle.fingerprint == self._record.fingerprint:
            return False
        replaced = BundleTag(self._record.bundle_etag, self._record.bundle_modified)
        tag = self.bundles.put(bundle, replaced)
        self._write_record(
            bundle_etag=tag.etag,
            bundle_modified=tag.modified,
            fingerprint=bundle.fingerprint,
        )
        return True

    def _last_seq(self) -> int:
        """The place of the last operation up to which all are in the scratch."""
        first_refused = self._first_refused
        return max(
            (
                seq
                for seq in self._executed
                if first_refused is None or seq < first_refused
            ),
            default=0,
        )

    def _forget_executed(self, until: int) -> None:
        for seq in [seq for seq in self._executed if seq <= until]:
            del self._executed[seq]

    # --- Helpers ---

    def _mark_dirty(self) -> None:
        if not self._record.is_dirty:
            self._write_record(is_dirty=True)

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


def _read_op(
    raw: bytes,
    outcome: bytes | None,
) -> AcknowledgedOp | None:
    """Return an operation of the ledger, with its newest outcome; None for an unreadable one."""
    try:
        return AcknowledgedOp.read(outcome or raw)
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("an acknowledged operation cannot be read: %s", error)
        return None
