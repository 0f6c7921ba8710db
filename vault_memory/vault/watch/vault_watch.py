"""The watch of one vault among many, with the interface of `Watcher`.

While it is open, it has a queue of hints and a schedule of its own: a `Watcher` whose events come
from the shared inotify instance. While it is closed, it keeps only its watches and one fact:
whether anything changed.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from watchdog.observers.inotify_c import InotifyEvent

from vault_memory.config.sections import Watch
from vault_memory.vault.watch.change_queue import ChangeHints, ChangeQueue, QueueMarker
from vault_memory.vault.watch.inotify import EventReader, FolderWatches
from vault_memory.vault.watch.watcher import EventSource, Mode, Watcher, root_identity, trouble_of


class WatchEnded(Exception):
    """The watch was removed, and cannot be started."""


class SharedEvents(Protocol):
    """What a watch needs of the object that shares one inotify instance between vaults."""

    now: Callable[[], float]
    wall: Callable[[], float]

    def reader(self) -> EventReader:
        """Returns the running reader of events. Raises OSError."""

    def obstacle(self, root: str) -> str | None:
        """Returns why a vault has no reliable events; None when it has."""


class VaultEvents(FolderWatches):
    """The watches of one vault; they put hints into its `VaultWatch`."""

    __slots__ = ("identity", "watch")

    def __init__(self, reader: EventReader, watch: "VaultWatch") -> None:
        super().__init__(reader, watch.root, watch)
        self.watch = watch
        self.identity: tuple[int, int] | None = None
        """Device and inode of the vault's folder when all its folders were watched"""

    def start(self) -> None:
        """Does nothing: the reader runs already."""

    def stop(self) -> None:
        """Removes all watches."""
        self.identity = None
        self.remove()

    def arm(self, prefix: str = "") -> None:
        """Watches a folder and all below it, unless all folders are watched. Raises OSError."""
        if prefix:
            super().arm(prefix)
        elif self.identity is None:
            identity = root_identity(self.root)
            super().arm()
            self.identity = identity

    def is_current(self) -> bool:
        """Whether all folders are watched, and the vault's folder is the same as before."""
        if self.identity is None or not self.folders or not self.reader.is_alive():
            return False
        try:
            # Fault (C56): a mount over the vault's folder raises no event.
            return root_identity(self.root) == self.identity
        except OSError:
            return False

    def is_alive(self) -> bool:
        """Returns False: it has no thread of its own."""
        return False

    def join(self) -> None:
        """Does nothing: it has no thread of its own."""

    def mark(self, mark: QueueMarker) -> bool:
        """Puts a marker behind all events so far. Returns False when no watch is free."""
        return self.reader.place(mark, self.watch)

    def marks(self) -> list[QueueMarker]:
        """Returns the markers that were not reached, and forgets them."""
        # Fault (C52): a full queue drops the event of a marker too. Its caller would
        # wait for ever.
        return self.reader.take_marks(self.watch)

    def handle(self, prefix: str, event: InotifyEvent) -> None:
        """Turns one event into a hint."""
        # A closed vault that changed is read again when it is opened. Until then one
        # busy vault must not slow down the events of the others.
        if not self.watch.needs_hints():
            return
        try:
            super().handle(prefix, event)
        except Exception as error:
            # Fault (C58): trouble with one vault must not end the thread of all.
            self.watch.lose(f"an event failed ({type(error).__name__}: {error})")


class VaultWatch:
    """Watches one vault among many. `SharedWatcher.add` makes it, closed.

    `start` opens it, and `stop` closes it again. Closed, it costs no time. The owner is called
    when there is something to take, and when a closed vault changed.
    """

    __slots__ = (
        "_events",
        "_hinting",
        "_is_healthy",
        "_is_reusable",
        "_lock",
        "_marks",
        "_obstacle",
        "_queue",
        "_reason",
        "_shared",
        "_tell_change",
        "_watcher",
        "is_changed",
        "is_removed",
        "root",
        "settings",
    )

    def __init__(
        self, root: str, settings: Watch, shared: SharedEvents, tell_change: Callable[[], None]
    ) -> None:
        self.root = root
        self.settings = settings
        """The vault's own intervals; the next `start` uses them"""
        self.is_changed = False
        """Whether the owner was called and has not looked since"""
        self.is_removed = False
        """Whether the vault is not watched any more"""
        self._shared = shared
        self._tell_change = tell_change
        self._lock = threading.RLock()
        self._hinting = threading.Lock()
        """guards the queue and `is_changed`, only for a moment: the thread of the events waits"""
        self._watcher: Watcher | None = None
        self._queue: ChangeQueue | None = None
        """Where hints go while it is open"""
        self._events: VaultEvents | None = None
        self._is_reusable = False
        """Whether the watcher that starts takes over the watches as they are"""
        self._marks: list[QueueMarker] = []
        """Requested while it was closed; the first hints bring them"""
        self._reason = ""
        """Why it has no events while it is closed"""
        self._is_healthy = True
        self._obstacle = ""
        """Why events are of no use here: changes came without them"""

    # --- State ---

    @property
    def is_open(self) -> bool:
        """Whether it was started."""
        return self._watcher is not None

    @property
    def has_events(self) -> bool:
        """Whether changes are reported by events."""
        return self.mode == "inotify"

    @property
    def mode(self) -> Mode:
        """How changes are noticed."""
        watcher = self._watcher
        if watcher is not None:
            return watcher.mode
        return "inotify" if self.folders else "polling"

    @property
    def healthy(self) -> bool:
        """False while changes may be noticed later than promised."""
        watcher = self._watcher
        return watcher.healthy if watcher is not None else self._is_healthy

    @property
    def reason(self) -> str:
        """Why it polls, or the last trouble; "" without trouble."""
        watcher = self._watcher
        return watcher.reason if watcher is not None else self._reason

    @property
    def folders(self) -> int:
        """The number of folders that are watched by events."""
        events = self._events
        return events.folders if events is not None else 0

    # --- For the owner ---

    def start(self) -> None:
        """Opens the vault. If no event came while it was closed, its watches stay as they are.

        Otherwise they are set again, and the first hints ask for a rescan. Raises WatchEnded.
        """
        with self._lock:
            if self.is_removed:
                raise WatchEnded(f"`{self.root}` is not watched any more")
            watcher = Watcher(
                self.root, self.settings, now=self._shared.now, wall=self._shared.wall, system=self
            )
            with self._hinting:
                # From here on, the queue gets all events. One that came before has set
                # `is_changed`.
                self._watcher, self._queue = watcher, watcher.queue
                was_changed, self.is_changed = self.is_changed, False
            events = self._events
            is_unchanged = events is not None and not was_changed and events.is_current()
            self._is_reusable = is_unchanged
            watcher.start(is_unchanged=is_unchanged)
            self._is_reusable = False
            marks, self._marks = self._marks, []
            for mark in marks:
                watcher.queue.ask(mark)

    def stop(self) -> None:
        """Closes the vault. Its watches stay, and a change calls the owner."""
        with self._lock:
            watcher, queue = self._watcher, self._queue
            if watcher is None:
                return
            self._reason, self._is_healthy = watcher.reason, watcher.healthy
            if watcher.is_deaf:
                self._obstacle = watcher.reason
            with self._hinting:
                # Fault: an event after the end of the queue calls the owner only if no
                # earlier call is open.
                self.is_changed = False
                self._watcher, self._queue = None, None
            watcher.wake()
            has_leftovers = queue is not None and self._has_leftovers(queue)
        # Fault: what was not taken would be forgotten with the queue. The owner is
        # called without the lock, for it may wait for locks of its own.
        if has_leftovers:
            self._tell()

    def _has_leftovers(self, queue: ChangeQueue) -> bool:
        """Whether a queue has hints that were not taken; a routine sweep is none."""
        lost, _ = queue.take_lost()
        hints = queue.take()
        self._marks += [*queue.take_asked(), *hints.marks]
        is_rescan = hints.rescan and not hints.sweep
        is_hint = bool(hints.paths or hints.subtrees or is_rescan)
        return is_hint or bool(lost or self._marks)

    def take(self, timeout: float) -> ChangeHints:
        """Returns the next hints as soon as there are any; empty ones after `timeout` seconds.

        A closed vault has none.
        """
        watcher = self._watcher
        if watcher is None:
            return ChangeHints()
        # The owner is called again for every hint that comes after this line.
        self.is_changed = False
        return watcher.take(timeout)

    def wait(self) -> float:
        """Returns for how many seconds the owner has nothing to do, unless it is called."""
        watcher = self._watcher
        if watcher is not None:
            return watcher.wait()
        # Fault: no event reports a change of a closed vault without watches. Its owner
        # has to open it from time to time.
        return float("inf") if self.folders else self.settings.poll_seconds

    def mark(self) -> QueueMarker:
        """Returns a marker that comes among the hints after everything that happened so far.

        Any thread may call it. The marker of a closed vault comes after the next `start`.
        """
        mark = QueueMarker()
        with self._lock:
            queue = self._queue
            if queue is None:
                self._marks.append(mark)
            else:
                queue.ask(mark)
        self._tell()
        return mark

    def wake(self) -> None:
        """Makes a `take` return that waits in another thread, and calls the owner."""
        watcher = self._watcher
        if watcher is not None:
            watcher.wake()
            self._tell()

    def note_missed(self, path: str) -> None:
        """Notes that a sweep found a change of this note, whose event should have come."""
        watcher = self._watcher
        if watcher is not None:
            watcher.note_missed(path)

    # --- For the shared watcher ---

    def arm(self) -> None:
        """Sets the watches of a closed vault, or plans sweeps."""
        with self._lock:
            self._reason = self.obstacle(self.root) or ""
            self._is_healthy = True
            try:
                if not self._reason:
                    self._arm()
            except OSError as error:
                self._reason, self._is_healthy = trouble_of(error), False

    def _arm(self) -> None:
        events = self._new_events()
        try:
            events.arm()
        except OSError:
            # Fault (C53): a vault of which some folders are watched looks watched.
            events.stop()
            raise

    def remove(self) -> None:
        """Ends the watch."""
        with self._lock:
            self.is_removed = True
            watcher = self._watcher
            self._watcher, self._queue = None, None
            if watcher is not None:
                watcher.wake()
            if self._events is not None:
                self._events.stop()

    # --- The event system of its `Watcher` ---

    def obstacle(self, root: str) -> str | None:
        """Returns why the vault has no reliable events; None when it has."""
        return self._obstacle or self._shared.obstacle(root)

    def open(self, root: str, queue: ChangeQueue) -> EventSource:
        """Returns the watches of the vault: new ones, or those that are current. Raises OSError."""
        if self._is_reusable and self._events is not None:
            return self._events
        return self._new_events()

    def _new_events(self) -> VaultEvents:
        previous = self._events
        if previous is not None:
            previous.stop()
        self._events = VaultEvents(self._shared.reader(), self)
        return self._events

    # --- Called by the thread that reads the events ---

    def needs_hints(self) -> bool:
        """Whether it is open, or closed and unchanged so far."""
        with self._hinting:
            return self._queue is not None or not self.is_changed

    def dirty(self, path: str, *, closed: bool | None) -> None:
        """A note may have changed."""
        self._put(lambda queue: queue.dirty(path, closed=closed))

    def subtree(self, path: str) -> None:
        """Anything below a folder may have changed."""
        self._put(lambda queue: queue.subtree(path))

    def rescan(self, reason: str) -> None:
        """Anything may have changed."""
        self._put(lambda queue: queue.rescan(reason))

    def lose(self, reason: str, error: OSError | None = None) -> None:
        """Events are lost; the watches are set again by `take`, or by the next `start`."""
        self._put(lambda queue: queue.lose(reason, error))

    def reach(self, marks: Iterable[QueueMarker]) -> None:
        """Everything that happened before these were requested is in the queue."""
        with self._hinting:
            queue = self._queue
            if queue is not None:
                queue.reach(marks)
            else:
                self._marks += marks
        self._tell()

    def _put(self, hint: Callable[[ChangeQueue], None]) -> None:
        """Gives a hint to the queue of an open vault, and calls the owner."""
        with self._hinting:
            # Fault: an opening after this look at the queue and before the flag is set would
            # get no hint, and take the vault for unchanged.
            if self._queue is not None:
                hint(self._queue)
            must_tell = self._note_call()
        if must_tell:
            self._tell_change()

    def _tell(self) -> None:
        self._put(lambda queue: None)

    def _note_call(self) -> bool:
        """Whether the owner has to be called, without the lock: it may wait for locks of its own."""
        # A hint is put into the queue before this line, and `take` clears the flag
        # before it empties the queue. So no hint stays without a call.
        if self.is_changed or self.is_removed:
            return False
        self.is_changed = True
        return True
