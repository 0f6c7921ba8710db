"""A ledger in one SQLite file, for the processes of one machine."""

from pathlib import Path

from vault_memory.addons.fleet.ledger.contract import LEASE_SECONDS
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_rows import Clock, utc_now
from vault_memory.addons.fleet.ledger.local_file import SQLITE, LedgerFile


class LocalLedger(Ledger):
    """A ledger in SQLite; several processes may have it open."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        lease_seconds: float = LEASE_SECONDS,
        clock: Clock = utc_now,
    ) -> None:
        """Open the file. `clock` is the host's.

        `create` makes the file and the fleet, or migrates an older file. Raises LedgerMissing,
        LedgerRefused, LedgerTooNew, LedgerAway, DatabaseDamaged.
        """
        super().__init__(LedgerFile(path, create=create), SQLITE, lease_seconds, clock)
