"""The process of `run`: one open vault, and what a process for it needs.

That is a lock, a watcher, a socket, signals, and the service manager. The loop takes the turns of
the upkeep itself: a service manager that hears nothing of it restarts the process.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from vault_memory.api.daemon_client import answered_here
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.service import sync_turns
from vault_memory.service.daemon_lock import DaemonLock
from vault_memory.service.service_manager import Notify, StopRequest
from vault_memory.service.service_vault import OwnerChanged, ServiceVault, Stopping, VaultOwner
from vault_memory.service.socket_calls import EditRequests, MemoryCall
from vault_memory.service.socket_server import SocketServer
from vault_memory.service.turn_lane import Lanes
from vault_memory.service.upkeep.conversation_upkeep import DropEvents
from vault_memory.service.upkeep.note_indexer import PathChange
from vault_memory.service.upkeep.vault_upkeep import RETRY_SECONDS
from vault_memory.vault.watch.watcher import Watcher

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.edits.conflict_copy import ResolvedConflict

logger = logging.getLogger(__name__)

TICK_SECONDS = 5.0
"""The longest sleep of the loop. No event reports that the state folder was removed."""
PATIENCE_SECONDS = 2.0
"""How long the end waits for the step of a night, or a batch of vectors: the next start repeats it"""


class Daemon:
    """Watches one vault until `stop`.

    The loop calls `tell` for each change of a note, and `tell_copy` for each conflict copy that it
    resolved. Its lanes call `tell_work` with a line for each night, sync and embedding. The
    socket answers `calls`, such as those of hooks, beside the daemon's own.
    """

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell: Callable[[PathChange], None],
        tell_copy: "Callable[[ResolvedConflict], None]" = lambda resolved: None,
        tell_work: Callable[[str], None] = lambda line: None,
        calls: Mapping[str, MemoryCall] | None = None,
    ) -> None:
        self.memory = memory
        self.notify = Notify(memory.vault.environment)
        self.watcher = Watcher(memory.root, memory.vault.config.watch)
        self.must_reopen = False
        """Whether the loop has ended because the vault has another owner now"""
        self._is_ending = False
        self.ending = StopRequest()
        """The request to end; a process that opens its vault again has one for all daemons"""
        self._lock = DaemonLock(memory.vault.state.lock_file)
        # The loop takes the turns of the upkeep.
        self._lanes = Lanes.with_threads(upkeep=0, sync=1, nights=1, embedding=1)
        drop_folder = memory.conversations.drop_folder.make()
        self._drop_events = DropEvents(drop_folder, self.watcher.wake)
        owner = VaultOwner(
            lanes=self._lanes,
            is_stopping=lambda: self._is_ending or self.ending.is_made(),
            tell=tell,
            tell_copy=tell_copy,
            progress=self.tell_progress,
            tell_work=tell_work,
            drop_events=self._drop_events,
            is_alone=True,
        )
        self._vault = ServiceVault(memory, self.watcher, owner, self._lock)
        self._edit_calls = EditRequests(memory, self._vault.upkeep, calls or {})

    def status(self) -> "WatcherJson":
        """Returns the state of the watcher, a part of the `status` of a vault."""
        return self._vault.upkeep.status()

    def stop(self) -> None:
        """Ends the loop soon. A signal handler or another thread may call it."""
        self.ending.make()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Holds the lock, watches the vault and answers calls, until `stop`.

        Raises Locked and VaultUnreachable at the start, and StateFolderGone.
        """
        if self.ending.is_made():
            return
        with ExitStack() as stack:
            stack.enter_context(self._lock)
            stack.enter_context(self.ending.waking(self.watcher.wake))
            stack.callback(self._drop_events.stop)
            self._drop_events.start()
            self._vault.open(stack.enter_context(ExitStack()))
            self.memory.vault.indexing.index()
            stack.callback(self._end_turns)
            answers, socket = self._vault.calls.table(), self.memory.vault.state.socket
            # A hook or a command that this process carries out asks it, too.
            stack.enter_context(answered_here(socket, answers))
            server = SocketServer(socket, {**answers, **self._edit_calls.table()})
            stack.callback(server.close)
            stack.callback(self._begin_end)
            self._lanes.start()
            try:
                self._watch(ready)
            except Stopping:
                logger.info("asked to stop; the next start scans the remaining notes")
            except OwnerChanged:
                self.must_reopen = True

    def _watch(self, ready: Callable[[], None]) -> None:
        """Scans the vault, and takes turns until `stop`.

        Raises Stopping, StateFolderGone, OwnerChanged.
        """
        self._vault.begin()
        # Of a million notes a night and the first scan hold 400 MB each while they list them.
        self._vault.begin_turns()
        ready()
        self.notify.ready(self._doing())
        while not self.ending.is_made():
            self._vault.tend_vault(min(TICK_SECONDS, self.notify.wait()))
            if self._vault.upkeep.trouble:
                # Fault: while the vault is away, each hint would make a scan of all of it.
                self.ending.wait(RETRY_SECONDS)
            self.notify.report_state(self._doing())

    def _begin_end(self) -> None:
        self._is_ending = True
        # Fault: the service manager would end a unit that says it stops.
        if not self.must_reopen:
            self.notify.stopping()

    def _end_turns(self) -> None:
        """Ends the turns of sync, nights and embedding; the next start continues them."""
        self._vault.syncing.stop()
        self._lanes.stop()
        self._lanes.sync.join(sync_turns.PATIENCE_SECONDS)
        self._lanes.nights.join(PATIENCE_SECONDS)
        self._lanes.embedding.join(PATIENCE_SECONDS)

    def tell_progress(self, completed: int, total: int) -> None:
        """Reports the progress of a scan to the service manager. Raises Stopping."""
        if self.ending.is_made():
            raise Stopping
        self.notify.progress(completed, total)

    def _doing(self) -> str:
        """Returns the state for the service manager, which every user of the machine may read."""
        if self._vault.upkeep.trouble:
            # Fault: the error may name a note, and every user of the machine may read
            # this line.
            return "the vault cannot be looked at; see the log"
        return f"watching ({self.watcher.mode})"
