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
    _CONTENT
    | Event.IN_ONLYDIR
    | Event.IN_EXCL_UNLINK
    | Event.IN_DELETE_SELF
    | Event.IN_MOVE_SELF
)
_ROOT_GONE = (
    Event.IN_DELETE_SELF | Event.IN_MOVE_SELF | Event.IN_UNMOUNT | Event.IN_IGNORED
)
_WENT = Event.IN_DELETE | Event.IN_MOVED_FROM
_SAVED = Event.IN_CLOSE_WRITE | Event.IN_MOVED_TO | _WENT
"""Events that end a save"""
_MARKER_CHANGED = Event.IN_CLOSE_WRITE | Event.IN_MOVED_TO | _WENT
_NO_MORE = (errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class HintReceiver(Protocol):
    """Receives the hints, from the thread that reads events; see `ChangeQueue` for their meaning."""

    def dirty(
        self,
        path: str,
        *,
        closed: bool | None,
    ) -> None: ...

    def subtree(self, path: str) -> None: ...

    def rescan(self, reason: str) -> None: ...

    def lose(
        self,
        reason: str,
        error: OSError | None = None,
    ) -> None: ...

    def reach(self, marks: list[QueueMarker]) -> None: ...


class FolderEvents(InotifyFD):
    """The watches of one vault, and the thread that turns their events into hints."""

    def __init__(
        self,
        root: str,
        receiver: HintReceiver,
    ) -> None:
        super().__init__()
        self.name = "vault-watch"
        self._root = root
        self._receiver = receiver
        self._tree = threading.RLock()
        self._prefixes: dict[int, str] = {}
        """Watch → path of its folder with a ``/`` at the end; "" for the vault itself"""
        self._watches: dict[str, int] = {}
        self._marks: dict[int, QueueMarker] = {}

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        return len(self._prefixes)

    def arm(self, prefix: str = "") -> None:
        """Watches a folder and all below it. Raises OSError without free watches or a vault."""
        waiting = [prefix]
        while waiting:
            prefix = waiting.pop()
            # Fault (C54, C59): the watch comes before the listing, so that no new
            # folder can fall between.
            if self._watch(prefix) and prefix.count("/") < DEEPEST:
                waiting += self._folders_in(prefix)

    def _folders_in(self, prefix: str) -> list[str]:
        try:
            with os.scandir(os.path.join(self._root, prefix)) as entries:
                return [
                    f"{prefix}{entry.name}/"
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."
                ]
        except OSError:
            # The folder was removed: the event of its removal follows.
            return []

    def _watch(self, prefix: str) -> bool:
        path = os.fsencode(os.path.join(self._root, prefix))
        with self._tree:
            watch = inotify_c.inotify_add_watch(
                self._inotify_fd,
                path,
                _BELOW if prefix else _ROOT,
            )
            if watch != -1:
                self._register(watch, prefix)
                return True
        number = ctypes.get_errno()
        # Fault (C53): without a free watch, a folder would be deaf without a sign.
        # Another error means that the folder is gone, and an event of that follows.
        if not prefix or number in _NO_MORE:
            raise OSError(number, os.strerror(number), os.fsdecode(path))
        return False

    def _register(
        self,
        watch: int,
        prefix: str,
    ) -> None:
        # Fault (C55): the system returns the old watch of a folder that was renamed.
        previous = self._prefixes.get(watch, prefix)
        if previous != prefix and self._watches.get(previous) == watch:
            del self._watches[previous]
        self._prefixes[watch] = prefix
        self._watches[prefix] = watch

    def _unwatch(self, prefix: str) -> None:
        """Removes the watches of a folder that was moved away, and of all below it."""
        with self._tree:
            for path in [path for path in self._watches if path.startswith(prefix)]:
                watch = self._watches.pop(path)
                self._prefixes.pop(watch, None)
                inotify_c.inotify_rm_watch(self._inotify_fd, watch)  # type: ignore[arg-type]

    def mark(self, mark: QueueMarker) -> bool:
        """Puts a marker behind all events so far. Returns False when no watch is free.

        The end of a watch is an event too, and comes in order. So a watch is set on a file that
        never changes, and removed at once.
        """
        with self._tree:
            watch = inotify_c.inotify_add_watch(
                self._inotify_fd, os.fsencode(os.devnull), Mask(Event.IN_DELETE_SELF)
            )
            if watch == -1:
                return False
            self._marks[watch] = mark
            inotify_c.inotify_rm_watch(self._inotify_fd, watch)
        return True

    def marks(self) -> list[QueueMarker]:
        """Returns the markers that were not reached; after the end of the thread, none will be."""
        with self._tree:
            return list(self._marks.values())

    def run(self) -> None:
        """Reads events until stopped. Reports an error that ends the thread, for a new start."""
        try:
            super().run()
        except Exception as error:
            # Fault (C58): without its thread a watcher would be deaf, and say that all
            # is well.
            if self.should_keep_running():
                self._receiver.lose(
                    f"the thread that watches ended ({type(error).__name__}: {error})"
                )

    def handle_event(self, event: InotifyEvent) -> None:
        """Turns one event into a hint."""
        mask = event.mask
        # Fault (C52): the system dropped events, and does not say which.
        if mask & Event.IN_Q_OVERFLOW:
            self._receiver.lose("more happened at once than the system could report")
            return
        prefix = self._prefix_of(event)
        if prefix is None:
            return
        # Fault (C56, C57): the watch follows the old folder. Events of the folder that
        # takes its place would never come.
        if not prefix and mask & _ROOT_GONE:
            self._receiver.lose("the vault's folder was moved, removed or unmounted")
        elif mask & Event.IN_ISDIR:
            self._handle_folder(prefix, os.fsdecode(event.name), mask)
        elif event.name:
            self._handle_file(prefix, os.fsdecode(event.name), mask)

    def _prefix_of(self, event: InotifyEvent) -> str | None:
        """Returns the folder of an event; None for a marker and for an unknown watch."""
        with self._tree:
            if mark := self._marks.pop(event.wd, None):
                self._receiver.reach([mark])
                return None
            prefix = self._prefixes.get(event.wd)
            if prefix is not None and event.mask & Event.IN_IGNORED:
                del self._prefixes[event.wd]
                if self._watches.get(prefix) == event.wd:
                    del self._watches[prefix]
        return prefix

    def _handle_file(
        self,
        prefix: str,
        name: str,
        mask: int,
    ) -> None:
        if name.endswith(SUFFIXES):
            self._handle_note(prefix, name, mask)
        elif name == NAME and not prefix and mask & _MARKER_CHANGED:
            self._receiver.rescan("the vault's marker changed")

    def _handle_note(
        self,
        prefix: str,
        name: str,
        mask: int,
    ) -> None:
        # Fault (C58): only a listing can report a name that is not valid text.
        if unreadable(name):
            self._receiver.subtree(prefix[:-1])
        elif not ignored(name) or conflict_copy(name):
            # Fault: `touch` and `chmod` change attributes. That does not prove that a
            # save is complete, or under way.
            closed = None if mask & Event.IN_ATTRIB else bool(mask & _SAVED)
            self._receiver.dirty(prefix + name, closed=closed)

    def _handle_folder(
        self,
        prefix: str,
        name: str,
        mask: int,
    ) -> None:
        if name.startswith("."):
            return
        path = prefix + name
        # Fault (C55): the watches below a folder that moved report its files under the
        # old path.
        if mask & (_WENT | Event.IN_MOVED_TO):
            self._unwatch(path + "/")
        if not mask & _WENT:
            self._arm_new_folder(path + "/" if name else prefix)
        # Fault (C54): files may have come into a new folder before it was watched.
        self._receiver.subtree(path if name else prefix[:-1])

    def _arm_new_folder(self, prefix: str) -> None:
        try:
            self.arm(prefix)
        except OSError as error:
            if self.should_keep_running():
                self._receiver.lose(
                    f"a new folder could not be watched: {error.strerror}", error
                )
