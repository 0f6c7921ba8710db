"""Reports changes on Linux: one inotify watch for each folder of the vault.

The events are read by watchdog's lowest class, `InotifyFD`. watchdog's observer delays every
rename by half a second to pair its two halves, and above some thousand folders it reports mostly
the events of its own walk. Neither pairs nor opens are needed here, so this module keeps the
watches itself. A folder is watched before it is listed, and a hint follows its event within a
fraction of a millisecond.
"""

import ctypes
import errno
import os
import threading
from abc import abstractmethod
from typing import Protocol

from watchdog.observers import inotify_c
from watchdog.observers.inotify_c import InotifyConstants as Event
from watchdog.observers.inotify_c import InotifyEvent, InotifyFD, Mask

from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import ignored, unreadable
from vault_memory.vault.listing import DEEPEST, SUFFIXES
from vault_memory.vault.marker import NAME
from vault_memory.vault.watch.change_queue import QueueMarker

_CONTENT = (
    Event.IN_MODIFY
    | Event.IN_CLOSE_WRITE
    | Event.IN_ATTRIB
    | Event.IN_CREATE
    | Event.IN_DELETE
    | Event.IN_MOVE
)
_BELOW = Mask(_CONTENT | Event.IN_ONLYDIR | Event.IN_DONT_FOLLOW | Event.IN_EXCL_UNLINK)
_ROOT = Mask(
    _CONTENT | Event.IN_ONLYDIR | Event.IN_EXCL_UNLINK | Event.IN_DELETE_SELF | Event.IN_MOVE_SELF
)
ROOT_GONE = Event.IN_DELETE_SELF | Event.IN_MOVE_SELF | Event.IN_UNMOUNT | Event.IN_IGNORED
WENT = Event.IN_DELETE | Event.IN_MOVED_FROM
_SAVED = Event.IN_CLOSE_WRITE | Event.IN_MOVED_TO | WENT
"""Events that end a save"""
_MARKER_CHANGED = Event.IN_CLOSE_WRITE | Event.IN_MOVED_TO | WENT
_NO_MORE = (errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class HintReceiver(Protocol):
    """Receives the hints, from the thread that reads events; see `ChangeQueue` for their meaning."""

    def dirty(self, path: str, *, closed: bool | None) -> None: ...

    def subtree(self, path: str) -> None: ...

    def rescan(self, reason: str) -> None: ...

    def lose(self, reason: str, error: OSError | None = None) -> None: ...

    def reach(self, marks: list[QueueMarker]) -> None: ...


class EventReader(InotifyFD):
    """One inotify instance, and the thread that gives each event to the folders it belongs to."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.lock = threading.RLock()
        """Guards the watches of all folders"""
        self._owners: dict[int, FolderWatches] = {}
        self._marks: dict[int, tuple[QueueMarker, HintReceiver]] = {}

    @abstractmethod
    def report_loss(self, reason: str) -> None:
        """Reports that events of all folders were lost."""

    def add_watch(self, path: str, mask: Mask, owner: "FolderWatches") -> int:
        """Watches a folder for `owner`, and returns the watch. Raises OSError."""
        if not self.should_keep_running():
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), path)
        watch = inotify_c.inotify_add_watch(self._inotify_fd, os.fsencode(path), mask)
        if watch == -1:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        previous = self._owners.get(watch)
        # Fault (C55): the system returns the old watch of a folder that was renamed,
        # also from one vault to another.
        if previous is not None and previous is not owner:
            previous.forget(watch)
        self._owners[watch] = owner
        return watch

    def remove_watch(self, watch: int) -> None:
        """Removes a watch."""
        self._owners.pop(watch, None)
        # Fault: after the end, another file may have got the number of the descriptor.
        if self.should_keep_running():
            inotify_c.inotify_rm_watch(self._inotify_fd, watch)  # type: ignore[arg-type]

    def place(self, mark: QueueMarker, receiver: HintReceiver) -> bool:
        """Puts a marker behind all events so far. Returns False when no watch is free.

        The end of a watch is an event too, and comes in order. So a watch is set on a file that
        never changes, and removed at once.
        """
        with self.lock:
            if not self.should_keep_running():
                return False
            watch = inotify_c.inotify_add_watch(
                self._inotify_fd, os.fsencode(os.devnull), Mask(Event.IN_DELETE_SELF)
            )
            if watch == -1:
                return False
            self._marks[watch] = (mark, receiver)
            inotify_c.inotify_rm_watch(self._inotify_fd, watch)
        return True

    def take_marks(self, receiver: HintReceiver) -> list[QueueMarker]:
        """Returns the markers that were not reached, and forgets them."""
        with self.lock:
            watches = [watch for watch, (_, target) in self._marks.items() if target is receiver]
            return [self._marks.pop(watch)[0] for watch in watches]

    def shut(self) -> None:
        """Stops the thread, and closes the instance."""
        # No other thread may use the number of the instance while it is closed.
        with self.lock:
            self.stop()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Reads events until stopped. Reports an error that ends the thread, for a new start."""
        try:
            super().run()
        except Exception as error:
            # Fault (C58): without its thread a watcher would be deaf, and say that all
            # is well.
            if self.should_keep_running():
                self.report_loss(f"the thread that watches ended ({type(error).__name__}: {error})")

    def handle_event(self, event: InotifyEvent) -> None:
        """Gives one event to the folders it belongs to."""
        # Fault (C52): the system dropped events, and does not say which.
        if event.mask & Event.IN_Q_OVERFLOW:
            self.report_loss("more happened at once than the system could report")
            return
        with self.lock:
            mark, receiver = self._marks.pop(event.wd, (None, None))
            owner = self._owners.get(event.wd)
            if owner is not None:
                prefix = owner.prefixes[event.wd]
                if event.mask & Event.IN_IGNORED:
                    del self._owners[event.wd]
                    owner.forget(event.wd)
        # Receivers are called without the lock: they may wait for locks of their own.
        if mark is not None and receiver is not None:
            receiver.reach([mark])
        elif owner is not None:
            owner.handle(prefix, event)


class FolderWatches:
    """The watches of one folder and all below it; turns their events into hints."""

    __slots__ = ("_watches", "prefixes", "reader", "receiver", "root")

    def __init__(self, reader: EventReader, root: str, receiver: HintReceiver) -> None:
        self.reader = reader
        self.root = root
        self.receiver = receiver
        self.prefixes: dict[int, str] = {}
        """Watch → path of its folder with a ``/`` at the end; "" for the root itself"""
        self._watches: dict[str, int] = {}

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        return len(self.prefixes)

    # --- Watches ---

    def arm(self, prefix: str = "") -> None:
        """Watches a folder and all below it. Raises OSError without free watches or a root."""
        waiting = [prefix]
        while waiting:
            prefix = waiting.pop()
            # Fault (C54, C59): the watch comes before the listing, so that no new
            # folder can fall between.
            if self._watch(prefix) and prefix.count("/") < DEEPEST:
                waiting += self._folders_in(prefix)

    def _folders_in(self, prefix: str) -> list[str]:
        try:
            with os.scandir(os.path.join(self.root, prefix)) as entries:
                return [
                    f"{prefix}{entry.name}/"
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."
                ]
        except OSError:
            # The folder was removed: the event of its removal follows.
            return []

    def _watch(self, prefix: str) -> bool:
        path = os.path.join(self.root, prefix)
        try:
            with self.reader.lock:
                watch = self.reader.add_watch(path, _BELOW if prefix else _ROOT, self)
                self._register(watch, prefix)
        except OSError as error:
            # Fault (C53): without a free watch, a folder would be deaf without a sign.
            # Another error means that the folder is gone, and an event of that follows.
            if not prefix or error.errno in _NO_MORE:
                raise
            return False
        return True

    def _register(self, watch: int, prefix: str) -> None:
        # Fault (C55): the system returns the old watch of a folder that was renamed.
        previous = self.prefixes.get(watch, prefix)
        if previous != prefix and self._watches.get(previous) == watch:
            del self._watches[previous]
        self.prefixes[watch] = prefix
        self._watches[prefix] = watch

    def forget(self, watch: int) -> None:
        """Forgets a watch that ended, or that belongs to other folders now."""
        prefix = self.prefixes.pop(watch, None)
        if prefix is not None and self._watches.get(prefix) == watch:
            del self._watches[prefix]

    def remove(self, prefix: str = "") -> None:
        """Removes the watches of a folder that was moved away, and of all below it."""
        with self.reader.lock:
            below = [watch for watch, path in self.prefixes.items() if path.startswith(prefix)]
            for watch in below:
                self.forget(watch)
                self.reader.remove_watch(watch)

    # --- Events ---

    def handle(self, prefix: str, event: InotifyEvent) -> None:
        """Turns one event of the folder `prefix` into a hint."""
        mask = event.mask
        # Fault (C56, C57): the watch follows the old folder. Events of the folder that
        # takes its place would never come.
        if not prefix and mask & ROOT_GONE:
            self.receiver.lose("the vault's folder was moved, removed or unmounted")
        elif mask & Event.IN_ISDIR:
            self._handle_folder(prefix, os.fsdecode(event.name), mask)
        elif event.name:
            self._handle_file(prefix, os.fsdecode(event.name), mask)

    def _handle_file(self, prefix: str, name: str, mask: int) -> None:
        if name.endswith(SUFFIXES):
            self._handle_note(prefix, name, mask)
        elif name == NAME and not prefix and mask & _MARKER_CHANGED:
            self.receiver.rescan("the vault's marker changed")

    def _handle_note(self, prefix: str, name: str, mask: int) -> None:
        # Fault (C58): only a listing can report a name that is not valid text.
        if unreadable(name):
            self.receiver.subtree(prefix[:-1])
        elif not ignored(name) or conflict_copy(name):
            # Fault: `touch` and `chmod` change attributes. That does not prove that a
            # save is complete, or under way.
            closed = None if mask & Event.IN_ATTRIB else bool(mask & _SAVED)
            self.receiver.dirty(prefix + name, closed=closed)

    def _handle_folder(self, prefix: str, name: str, mask: int) -> None:
        if name.startswith("."):
            return
        path = prefix + name
        # Fault (C55): the watches below a folder that moved report its files under the
        # old path.
        if mask & (WENT | Event.IN_MOVED_TO):
            self.remove(path + "/")
        if not mask & WENT:
            self._arm_new_folder(path + "/" if name else prefix)
        # Fault (C54): files may have come into a new folder before it was watched.
        self.receiver.subtree(path if name else prefix[:-1])

    def _arm_new_folder(self, prefix: str) -> None:
        try:
            self.arm(prefix)
        except OSError as error:
            if self.reader.should_keep_running():
                self.receiver.lose(f"a new folder could not be watched: {error.strerror}", error)


class FolderEvents(EventReader):
    """The watches of one vault, with an inotify instance and a thread of their own."""

    def __init__(self, root: str, receiver: HintReceiver) -> None:
        super().__init__("vault-watch")
        self._receiver = receiver
        self._folders = FolderWatches(self, root, receiver)

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        return self._folders.folders

    def arm(self) -> None:
        """Watches the vault. Raises OSError without free watches or a vault."""
        self._folders.arm()

    def mark(self, mark: QueueMarker) -> bool:
        """Puts a marker behind all events so far. Returns False when no watch is free."""
        return self.place(mark, self._receiver)

    def marks(self) -> list[QueueMarker]:
        """Returns the markers that were not reached, and forgets them."""
        return self.take_marks(self._receiver)

    def report_loss(self, reason: str) -> None:
        """Reports that events were lost."""
        self._receiver.lose(reason)
