"""A vault that a host holds: its visit, its lease in local time, and the requests that use it."""

import threading
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp, Call
from vault_memory.addons.fleet.fleet_errors import Pending
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost, LedgerAway
from vault_memory.addons.fleet.visit import Visit
from vault_memory.api.scoped_vault import ScopedVault
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.vault.marker import new_id

if TYPE_CHECKING:
    from vault_memory.conversations.calls import Recorded
    from vault_memory.edits.edit_result import Edit
    from vault_memory.learning.remember import Remembered
    from vault_memory.rules.paths.scopes import Caller

FIRST_RETURN = 2.0
LONGEST_RETURN = 30.0
"""Seconds between two looks for a home that did not answer"""


class HeldLease:
    """A lease of this host, and its end by the monotonic clock."""

    def __init__(self, lease: Lease, deadline: float) -> None:
        self.lease = lease
        self.deadline = deadline


class HeldVault:
    """One vault of a host."""

    def __init__(self, visit: Visit, deadline: float) -> None:
        """`deadline` is the end of the lease, by the monotonic clock of this host."""
        self.visit = visit
        self.lease = visit.lease
        self.deadline = deadline
        self.users = 0
        """requests that use the vault"""
        self.used_at = time.monotonic()
        """when a request last ended"""
        self._followed_at = self.used_at
        """when the home was last asked for edits of people"""
        self._kept_at: float | None = None
        """when the oldest operation was kept that is not in the home yet"""
        self._next_return = self.used_at + FIRST_RETURN
        """when to look whether the home answers again"""
        self._pause = FIRST_RETURN
        self._lock = threading.Lock()

    def is_current(self) -> bool:
        """Whether the lease has not run out."""
        return time.monotonic() < self.deadline and not self.visit.lost

    def begin_use(self) -> None:
        """Count a request."""
        self.users += 1

    def end_use(self) -> None:
        """End the use by a request."""
        self.users -= 1
        self.used_at = time.monotonic()

    def is_idle(self, seconds: float) -> bool:
        """Whether no request has used the vault for so long."""
        return not self.users and time.monotonic() - self.used_at >= seconds

    # --- A home that is away ---

    def needs_return(self) -> bool:
        """Whether it is time to look for a home that did not answer."""
        is_away = self.visit.away is not None
        return is_away and time.monotonic() >= self._next_return

    def postpone_return(self) -> None:
        """Look again later, and each time later than before."""
        self._next_return = time.monotonic() + self._pause
        self._pause = min(LONGEST_RETURN, 2 * self._pause)

    # --- Writes ---

    def note_kept(self) -> None:
        """An operation is in the ledger, and has to go home."""
        with self._lock:
            self._kept_at = self._kept_at or time.monotonic()

    def needs_flush(self, seconds: float) -> bool:
        """Whether an operation has waited so long."""
        kept_at = self._kept_at
        return kept_at is not None and time.monotonic() - kept_at >= seconds

    def needs_follow(self, seconds: float) -> bool:
        """Whether the home was not asked for edits of people for so long."""
        return time.monotonic() - self._followed_at >= seconds

    def flush(self, *, follow: bool = False) -> None:
        """Bring everything home. With `follow`, look for edits of people there."""
        if follow:
            self._followed_at = time.monotonic()
        with self._lock:
            kept_at, self._kept_at = self._kept_at, None
        try:
            self.visit.flush(follow=follow)
        except BaseException:
            with self._lock:
                self._kept_at = kept_at or self._kept_at
            raise

    def make_durable(self) -> None:
        """Bring what a request wrote home before its answer. Raises Pending, LeaseLost."""
        try:
            report = self.visit.flush()
        except VaultMemoryError as error:
            self.note_kept()
            raise Pending(error.code) from None
        if not report.is_complete:
            self.note_kept()
            raise Pending("a file waits")


def longest_unused(entries: Mapping[str, HeldVault], occupied: Collection[str]) -> HeldVault | None:
    """Return the vault that no request has used for longest, among those not occupied."""
    unused = [
        entry for vault, entry in entries.items() if not entry.users and vault not in occupied
    ]
    return min(unused, key=lambda entry: entry.used_at, default=None)


class AcknowledgedMemory:
    """The open vault for one request: what is recorded or remembered is kept in the ledger.

    All other attributes are those of the VaultMemory.
    """

    def __init__(self, entry: HeldVault) -> None:
        self._vault = entry
        self._memory = entry.visit.memory
        self.is_durable = False
        """whether the last write is acknowledged already"""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def as_seen_by(self, caller: "Caller") -> ScopedVault:
        """Return this vault with the scopes of a caller; see `VaultMemory.as_seen_by`."""
        # Fault: a view of the vault itself would answer writes that the ledger does not keep.
        memory: Any = self
        return ScopedVault(memory, caller)

    def record_turn(self, **keywords: Any) -> "Recorded":
        """Record one turn; see `VaultMemory.record_turn`."""
        if keywords.get("mode") == "incognito":
            recorded: Recorded = self._memory.record_turn(**keywords)
            return recorded
        answer: Recorded = self._run("record", keywords)
        return answer

    def remember(self, text: str, **keywords: Any) -> "Remembered":
        """Write one sentence; see `VaultMemory.remember`."""
        answer: Remembered = self._run("remember", {"text": text, **keywords})
        return answer

    def apply(self, note: str, ops: Any, **keywords: Any) -> "Edit":
        """Apply ops to a note; see `VaultMemory.apply`."""
        if keywords.get("dry_run"):
            planned: Edit = self._memory.apply(note, ops, **keywords)
            return planned
        answer: Edit = self._run("apply", {"note": note, "ops": list(ops), **keywords})
        return answer

    def _run(self, call: Call, keywords: Mapping[str, Any]) -> Any:
        now = keywords.get("now") or datetime.now(UTC)
        ignored = ("now", "dry_run", "chance", "again")
        arguments = {
            name: value
            for name, value in keywords.items()
            if name not in ignored and value is not None
        }
        op = AcknowledgedOp(new_id(), call, arguments, now)
        try:
            answer = self._vault.visit.run(op)
        except LedgerAway as error:
            self._vault.note_kept()
            raise Pending(error.code) from None
        except LeaseLost:
            self._vault.visit.lost = True
            raise VaultUnavailable from None
        self._vault.note_kept()
        self.is_durable = True
        return answer
