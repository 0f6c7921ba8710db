"""Homes that do not answer: their vaults are opened without them, and brought back to them later."""

import logging
import threading
import time

from vault_memory.addons.fleet.home_link import is_away
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.scratch import Scratch
from vault_memory.addons.fleet.serving.held_vault import HeldVault
from vault_memory.addons.fleet.visit import Visit
from vault_memory.addons.fleet.visit_settings import VisitSettings, server_of
from vault_memory.remote.remote_errors import RemoteBusy, RemoteError

logger = logging.getLogger(__name__)
SILENT_SECONDS = 5.0
"""A server is asked again after so long"""


class AwayHomes:
    """Opens the vaults of one host. Any thread may call it."""

    def __init__(self, ledger: Ledger, settings: VisitSettings, host: str) -> None:
        """`host`: the name of this host in the ledger."""
        self._ledger = ledger
        self._settings = settings
        self._host = host
        self._silent = SilentServers()

    def visit(self, lease: Lease, *, is_asked: bool) -> Visit:
        """Visit a vault. Where its home is away, a request gets the local copy of before.

        `is_asked`: a request waits for the vault. Raises as `Visit.open`.
        """
        # Fault: a text was forgotten, and the local copy still has it. It would be kept in the
        # journal as an earlier version. The ledger asks for the copy until the vault is closed.
        if lease.vault in self._ledger.to_erase(self._host):
            Scratch(self._settings.scratch, lease.vault.replace("-", "")).erase()
        reason = self._silent.reason(lease.home) if is_asked else None
        if reason is None:
            try:
                visit = Visit.open(lease, self._ledger, self._settings)
                self._silent.forget(lease.home)
                return visit
            except RemoteError as error:
                self._note(lease.home, error)
                if not (is_asked and is_away(error)):
                    raise
                reason = error
        visit = Visit.open_away(lease, self._ledger, self._settings, reason)
        logger.warning("a vault is read without its home: %s", reason.code)
        return visit

    def is_time(self, entry: HeldVault) -> bool:
        """Whether to look now for the home of a vault that was opened without it."""
        if not entry.needs_return():
            return False
        # One vault asks for all of its server.
        if self._silent.reason(entry.lease.home) is not None:
            entry.postpone_return()
            return False
        return True

    def has_returned(self, entry: HeldVault) -> bool:
        """Ask the home of a vault that was opened without it."""
        home = entry.lease.home
        try:
            entry.visit.look_for_home()
        except RemoteError as error:
            self._note(home, error)
            if is_away(error):
                entry.postpone_return()
                return False
            # It answers with another error, which the next visit meets, too.
        else:
            self._silent.forget(home)
        return True

    def _note(self, home: str, error: RemoteError) -> None:
        """Note whether the server of a home answered."""
        if is_away(error):
            self._silent.note(home, error)
        else:
            self._silent.forget(home)


# --- Silent servers ---

# Servers of homes that did not answer a moment ago, so that not each vault waits for them.


class SilentServers:
    """Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._silent: dict[str, tuple[float, RemoteError]] = {}
        """Server → when it was asked last, and what came of it"""

    def note(self, home: str, error: RemoteError) -> None:
        """The server of a home did not answer."""
        # A server may be busy for one account only, and it says so at once.
        if isinstance(error, RemoteBusy):
            return
        with self._lock:
            self._silent[server_of(home)] = time.monotonic(), error

    def forget(self, home: str) -> None:
        """The server of a home answers."""
        with self._lock:
            self._silent.pop(server_of(home), None)

    def reason(self, home: str) -> RemoteError | None:
        """Return why the server of a home need not be asked now; None: ask it."""
        server = server_of(home)
        now = time.monotonic()
        with self._lock:
            if server not in self._silent:
                return None
            asked_at, error = self._silent[server]
            if now - asked_at < SILENT_SECONDS:
                return error
            # Fault: a server that hangs would let all callers wait. This one asks for them.
            self._silent[server] = now, error
            return None
