"""The daemon's loop: it takes hints of change from a watcher, and lets the upkeep handle them.

Around it the daemon has what a process for one vault needs: a lock, threads, a socket, signals,
and the service manager.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultMemoryError
from vault_memory.service.daemon_lock import DaemonLock
from vault_memory.service.embedding_turns import Embedding
from vault_memory.service.night_turns import Nights
from vault_memory.service.sd_notify import Notify
from vault_memory.service.socket_calls import Calls, EditRequests, MemoryCall
from vault_memory.service.socket_server import SocketServer
from vault_memory.service.sync_turns import Syncing, pass_counts
from vault_memory.service.upkeep.conversation_upkeep import DropEvents
from vault_memory.service.upkeep.note_indexer import PathChange
from vault_memory.service.upkeep.read_barrier import Barrier
from vault_memory.service.upkeep.vault_upkeep import RETRY_SECONDS, UpkeepOwner, VaultUpkeep
from vault_memory.vault.watch.change_queue import ChangeHints
from vault_memory.vault.watch.watcher import Watcher

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.edits.conflict_copy import ResolvedConflict

logger = logging.getLogger(__name__)

TICK_SECONDS = 5.0
"""The longest sleep of the loop. No event reports that the state folder was removed."""


class Stopping(Exception):
    """The daemon must stop, and a scan of the vault ends early."""


class Daemon:
    """Watches one vault until `stop`.

    The loop calls `tell` for each change of a note, and `tell_copy` for each conflict copy that it
    resolved. Its threads call `tell_work` with a line for each night, sync and embedding. The
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
        self._tell_work = tell_work
        self._edit_calls = EditRequests(memory, calls or {})
        self.notify = Notify(memory.vault.environment)
        self.watcher = Watcher(memory.root, memory.vault.config.watch)
        self._stop = StopRequest(self.watcher.wake)
        drop_folder = memory.conversations.drop_folder.make()
        self._drop_events = DropEvents(drop_folder, self.watcher.wake)
        owner = UpkeepOwner(
            tell=tell,
            tell_copy=tell_copy,
            note_change=lambda: self.syncing.heard(),
            note_settled_text=lambda: self._embedding.wake(),
            progress=self.tell_progress,
        )
        self._upkeep = VaultUpkeep(memory, self.watcher, owner, self._drop_events)
        self.must_reopen = False
        """Whether the loop has ended because the vault has another owner now"""

    @property
    def trouble(self) -> str:
        """Why the vault cannot be read now; empty when it can."""
        return self._upkeep.trouble

    @property
    def barrier(self) -> Barrier:
        """What a question waits for."""
        return self._upkeep.barrier

    def status(self) -> "WatcherJson":
        """Returns the state of the watcher, a part of the `status` of a vault."""
        return self._upkeep.status()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_made()

    def stop(self) -> None:
        """Ends the loop soon. A signal handler or another thread may call it."""
        self._stop.make()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Holds the lock, watches the vault and answers calls, until `stop`.

        Raises Locked and VaultUnreachable at the start, and StateFolderGone.
        """
        if self._stop.is_made():
            return
        with DaemonLock(self.memory.vault.state.lock_file) as lock, self._stop.heard():
            # Fault (C59): a save during the scan must raise an event. So the watches
            # come before the scan.
            self.watcher.start()
            try:
                self._drop_events.start()
                self._serve(lock, ready)
            finally:
                self.watcher.stop()
                self._drop_events.stop()

    def _serve(self, lock: DaemonLock, ready: Callable[[], None]) -> None:
        """Starts the threads, and takes turns until `stop`."""
        self.memory.vault.indexing.index()
        self._embedding = Embedding(self.memory.fork(), tell=self._tell_work)
        self.syncing = Syncing(
            self.memory.fork(),
            tell=lambda report: self._tell_work(f"synced: {pass_counts(report)}"),
        )
        server = SocketServer(
            self.memory.vault.state.socket,
            {
                "changes": self._upkeep.changes.answer,
                **Calls(self).table(),
                **self._edit_calls.table(),
            },
        )
        nights = Nights(self.memory.fork(), tell=self._tell_work)
        try:
            self._upkeep.begin()
            self._renew_outdated()
            ready()
            self.notify.ready(self._doing())
            while not (self._stop.is_made() or self.must_reopen):
                lock.check()
                self._turn()
        except Stopping:
            logger.info("asked to stop; the next start scans the remaining notes")
        finally:
            # Fault: the service manager would end a unit that says it stops.
            if not self.must_reopen:
                self.notify.stopping()
            self._upkeep.close()
            server.close()
            nights.close()
            self.syncing.close()
            self._embedding.close()

    def _turn(self) -> None:
        seconds = min(TICK_SECONDS, self._upkeep.wait(), self.notify.wait())
        hints = self._take_hints(seconds)
        # Fault: a note would be indexed for the owner of before. The next start scans it.
        if self.memory.vault.has_other_owner:
            self.must_reopen = True
            return
        if hints is not None:
            self._upkeep.turn(hints)
        if self._upkeep.trouble:
            self._stop.wait(RETRY_SECONDS)
        self.notify.turn(self._doing())

    def _take_hints(self, seconds: float) -> ChangeHints | None:
        """Returns the next hints; None when the watcher failed."""
        try:
            return self.watcher.take(seconds)
        except (VaultMemoryError, OSError) as error:
            # Fault (C57): the disk may be unmounted. The daemon waits for it.
            self._upkeep.note_trouble(error)
            return None

    def tell_progress(self, completed: int, total: int) -> None:
        """Reports the progress of a scan to the service manager. Raises Stopping."""
        if self._stop.is_made():
            raise Stopping
        self.notify.progress(completed, total)

    def _renew_outdated(self) -> None:
        """Builds a new index beside one with older rules, which serves meanwhile."""
        if self._upkeep.is_outdated:
            logger.info("building a new generation of the index; the old one serves meanwhile")
            build = self._upkeep.build_generation
            threading.Thread(target=build, name="generation", daemon=True).start()

    def _doing(self) -> str:
        """Returns the state for the service manager, which every user of the machine may read."""
        if self.trouble:
            # Fault: the error may name a note, and every user of the machine may read
            # this line.
            return "the vault cannot be looked at; see the log"
        return f"watching ({self.watcher.mode})"


# --- Stop request ---

# The request to end, which wakes a loop that sleeps. A signal handler may make it at any
# moment.
#
# A signal handler runs between two instructions of the main thread, which may hold any lock. So
# the handler acquires no lock: it writes a byte, and a thread reads the byte and wakes the
# loop.


class StopRequest:
    """The request to one daemon. `wake` ends the sleep of its loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._is_made = False
        self._writer: int | None = None
        self._event = threading.Event()

    def make(self) -> None:
        """Asks for the end; call it from a signal handler or any thread."""
        self._is_made = True
        if self._writer is not None:
            # A pipe that is full or closed: the loop has the request already.
            with suppress(OSError):
                os.write(self._writer, b"x")

    def is_made(self) -> bool:
        """Whether the daemon has to end."""
        return self._is_made

    def wait(self, seconds: float) -> None:
        """Sleeps, at most until the request is made."""
        self._event.wait(seconds)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Within this, a request wakes the loop."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        thread = threading.Thread(target=self._listen, args=(reader,), name="stop", daemon=True)
        thread.start()
        self._writer = writer
        try:
            # A signal before the pipe existed woke nothing.
            if self._is_made:
                os.write(writer, b"x")
            yield
        finally:
            self._writer = None
            os.close(writer)
            thread.join()
            os.close(reader)

    def _listen(self, reader: int) -> None:
        while os.read(reader, 1):
            self._event.set()
            self._wake()
