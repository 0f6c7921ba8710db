"""Hearing of changes on Linux: one inotify watch for each folder of the vault, read by watchdog's lowest class.

watchdog's observer holds every rename back for half a second to pair its two halves, and below some thousand folders
hears mostly the echo of its own walking. We need neither pairs nor opens, so we take its reader (`InotifyFD`) and keep
the watches ourselves: a folder is armed before it is listed, and a hint is out a fraction of a millisecond after
the event.
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
from vault_memory.vault.watch.change_queue import Mark

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
_DONE = Event.IN_CLOSE_WRITE | Event.IN_MOVED_TO | _WENT
_NO_MORE = (errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class Hearer(Protocol):
    """Who is told of events, from the thread that reads them; `Inbox` says what each means."""

    def dirty(self, path: str, *, closed: bool | None) -> None: ...

    def subtree(self, path: str) -> None: ...

    def rescan(self, reason: str) -> None: ...

    def lose(self, reason: str, error: OSError | None = None) -> None: ...

    def reach(self, marks: list[Mark]) -> None: ...


class FolderEvents(InotifyFD):
    """The watches of one vault and the thread that reads them into an inbox."""

    def __init__(self, root: str, inbox: Hearer) -> None:
        super().__init__()
        self.name = "vault-watch"
        self._root = root
        self._inbox = inbox
        self._tree = threading.RLock()
        self._prefixes: dict[int, str] = {}
        """Watch → path of its folder with a ``/`` at the end; "" for the vault itself."""
        self._watches: dict[str, int] = {}
        self._marks: dict[int, Mark] = {}

    @property
    def folders(self) -> int:
        """How many are watched."""
        return len(self._prefixes)

    def arm(self, prefix: str = "") -> None:
        """Watch a folder and all below it. Raises OSError when there are no more watches, or no vault."""
        waiting = [prefix]
        while waiting:
            prefix = waiting.pop()
            if self._watch(prefix) and prefix.count("/") < DEEPEST:
                waiting += self._folders_in(prefix)

    def _folders_in(self, prefix: str) -> list[str]:
        try:
            with os.scandir(os.path.join(self._root, prefix)) as names:
                return [
                    f"{prefix}{entry.name}/"
                    for entry in names
                    if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."
                ]
        except OSError:
            return []

    def _watch(self, prefix: str) -> bool:
        path = os.fsencode(os.path.join(self._root, prefix))
        with self._tree:
            watch = inotify_c.inotify_add_watch(
                self._inotify_fd, path, _BELOW if prefix else _ROOT
            )
            if watch != -1:
                before = self._prefixes.get(watch, prefix)
                if before != prefix and self._watches.get(before) == watch:
                    del self._watches[before]
                self._prefixes[watch] = prefix
                self._watches[prefix] = watch
                return True
        number = ctypes.get_errno()
        if not prefix or number in _NO_MORE:
            raise OSError(number, os.strerror(number), os.fsdecode(path))
        return False

    def _unwatch(self, prefix: str) -> None:
        """Let go of a folder that was moved away, and of all below it."""
        with self._tree:
            for path in [path for path in self._watches if path.startswith(prefix)]:
                watch = self._watches.pop(path)
                self._prefixes.pop(watch, None)
                inotify_c.inotify_rm_watch(self._inotify_fd, watch)  # type: ignore[arg-type]

    def mark(self, mark: Mark) -> bool:
        """Put a mark behind all events so far; False when there are no more watches.

        The end of a watch is an event too, and comes in its turn: so one is set on what never changes, and ended.
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

    def marks(self) -> list[Mark]:
        """Those whose turn has not come; when this has ended, it never will."""
        with self._tree:
            return list(self._marks.values())

    def run(self) -> None:
        """Read until stopped; an error that ends the thread is told, so that another is started."""
        try:
            super().run()
        except Exception as error:
            if self.should_keep_running():
                self._inbox.lose(
                    f"the thread that watches ended ({type(error).__name__}: {error})"
                )

    def handle_event(self, event: InotifyEvent) -> None:
        """Turn one event into a hint."""
        mask = event.mask
        if mask & Event.IN_Q_OVERFLOW:
            self._inbox.lose("more happened at once than the system could tell")
            return
        with self._tree:
            if mark := self._marks.pop(event.wd, None):
                self._inbox.reach([mark])
                return
            prefix = self._prefixes.get(event.wd)
            if prefix is None:
                return
            if mask & Event.IN_IGNORED:
                del self._prefixes[event.wd]
                if self._watches.get(prefix) == event.wd:
                    del self._watches[prefix]
        if not prefix and mask & _ROOT_GONE:
            self._inbox.lose("the vault's folder was moved, removed or unmounted")
        elif mask & Event.IN_ISDIR:
            self._heard_of_folder(prefix, os.fsdecode(event.name), mask)
        elif event.name:
            self._heard_of_file(prefix, os.fsdecode(event.name), mask)

    def _heard_of_file(self, prefix: str, name: str, mask: int) -> None:
        if name.endswith(SUFFIXES):
            if unreadable(name):
                self._inbox.subtree(prefix[:-1])
            elif not ignored(name) or conflict_copy(name):
                closed = None if mask & Event.IN_ATTRIB else bool(mask & _DONE)
                self._inbox.dirty(prefix + name, closed=closed)
        elif (
            name == NAME
            and not prefix
            and mask & (_WENT | Event.IN_MOVED_TO | Event.IN_CLOSE_WRITE)
        ):
            self._inbox.rescan("the vault's marker changed")

    def _heard_of_folder(self, prefix: str, name: str, mask: int) -> None:
        if name.startswith("."):
            return
        path = prefix + name
        if mask & (_WENT | Event.IN_MOVED_TO):
            self._unwatch(path + "/")
        if not mask & _WENT:
            self._arm_heard(path + "/" if name else prefix)
        self._inbox.subtree(path if name else prefix[:-1])

    def _arm_heard(self, prefix: str) -> None:
        try:
            self.arm(prefix)
        except OSError as error:
            if self.should_keep_running():
                self._inbox.lose(
                    f"a new folder could not be watched: {error.strerror}", error
                )
