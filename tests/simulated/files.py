"""A disk in memory that forgets what was not synced, in the ways that real file systems do.

Every file has bytes in memory and bytes on the disk. Every folder has entries in memory and a list of
changes that the disk may not have seen. A test can crash the engine before or after any call.
`after_power_loss` gives the states in which a disk may come back: which changes of folders it has seen,
and what has become of bytes that were not synced.
"""

import copy
import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from vault_memory.vault.fs import FileStatus

Model = Literal["kill", "ext4-ordered", "ext4-writeback", "btrfs", "posix"]
MODELS: tuple[Model, ...] = ("kill", "ext4-ordered", "ext4-writeback", "btrfs", "posix")


class Crash(BaseException):
    """The process is gone; no handler of ours may run on the disk afterwards."""


@dataclass
class Inode:
    number: int
    mode: int
    data: bytes = b""
    durable: bytes = b""
    synced: bool = True
    ctime: int = 0
    mtime: int = 0
    uid: int = 1000
    gid: int = 1000
    attributes: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Folder:
    entries: dict[str, int] = field(default_factory=dict)
    durable: dict[str, int] = field(default_factory=dict)
    changes: list[dict[str, int | None]] = field(default_factory=list)
    """Not yet known to be on the disk, each of them all or nothing."""
    mtime: int = 0


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class SimulatedFiles:
    """Implements `Files` on a disk of this kind."""

    root = "/vault"

    def __init__(self) -> None:
        self.uid = 1000
        self.clock = 1_000_000.0
        self.calls = 0
        self.trace: list[str] = []
        self.crash_at: int | None = None
        self.torn = False
        """Whether the call that is cut short has half of its effect, where it can."""
        self.faults: dict[int, int] = {}
        """Number of a call → the error it meets."""
        self.meanwhile: dict[str, Callable[[SimulatedFiles], None]] = {}
        """Beginning of a call → what somebody does just before the first such call."""
        self.every: tuple[int, int, Iterator[None]] | None = None
        """First call, distance in calls, and the steps that somebody takes before them."""
        self.chance: Callable[[], None] | None = None
        """Asked before every call whether anybody does anything."""
        self.model: Model = "ext4-ordered"
        self.exchanges = self.replaces_not = True
        self.leases = True
        self.space = 1 << 40
        self.dead = False
        self.inodes: dict[int, Inode] = {}
        self.folders: dict[str, Folder] = {"": Folder()}
        self.open_files: dict[int, int | str] = {}
        self.others: dict[int, int] = {}
        """Inode → how many of its openers are not we."""
        self.held = 0
        """Inode that somebody has open and means to write."""
        self.person_wrote = False
        self._next = 3
        self._tick = 0

    # --- What a test does with the disk ---

    def clone(self) -> "SimulatedFiles":
        """The same disk once more, with nothing planned for it."""
        copied = copy.copy(self)
        copied.inodes = {number: copy.copy(inode) for number, inode in self.inodes.items()}
        copied.folders = {
            path: Folder(
                dict(folder.entries), dict(folder.durable), list(folder.changes), folder.mtime
            )
            for path, folder in self.folders.items()
        }
        copied.open_files, copied.others = dict(self.open_files), dict(self.others)
        copied.faults, copied.meanwhile, copied.trace, copied.chance = {}, {}, [], None
        copied.crash_at, copied.every, copied.dead, copied.calls = None, None, False, 0
        return copied

    def restarted(self) -> "SimulatedFiles":
        """After the death of our process alone."""
        copied = self.clone()
        copied.open_files.clear()
        return copied

    def revive(self) -> None:
        """The next process begins on the same disk, while everybody else goes on."""
        self.dead, self.crash_at = False, None
        self.open_files.clear()

    def after_power_loss(self, model: Model) -> Iterator["SimulatedFiles"]:
        """Every state in which the disk may come back under this model."""
        if model == "kill":
            yield self.restarted()
            return
        reordered = model in ("btrfs", "posix")
        per_folder = [
            [(path, entries) for entries in folder_states(folder, reordered=reordered)]
            for path, folder in self.folders.items()
        ]
        dirty = [inode for inode in self.inodes.values() if not inode.synced]
        contents = [[(inode.number, data) for data in _torn(inode, model)] for inode in dirty]
        for folders in itertools.product(*per_folder):
            for datas in itertools.product(*contents):
                yield self._came_back(dict(folders), dict(datas))

    def _came_back(
        self, folders: dict[str, dict[str, int]], datas: dict[int, bytes]
    ) -> "SimulatedFiles":
        copied = self.restarted()
        copied.others.clear()
        copied.folders = {}
        for path, entries in sorted(folders.items()):
            parent, _, name = path.rpartition("/")
            if not path or (parent in copied.folders and name in copied.folders[parent].entries):
                copied.folders[path] = Folder(dict(entries), dict(entries))
        for inode in copied.inodes.values():
            inode.data = inode.durable = datas.get(inode.number, inode.durable)
            inode.synced = True
        return copied

    def state(self) -> object:
        """Equal for disks on which everything goes on alike."""
        entries = tuple(
            (path, name, number, self.inodes[number].data, bool(self.others.get(number)))
            for path, folder in sorted(self.folders.items())
            for name, number in sorted(folder.entries.items())
        )
        return entries, self.person_wrote

    def names(self, path: str = "") -> list[str]:
        return sorted(self.folders[path].entries)

    def text(self, path: str) -> bytes | None:
        """What stands under a path, for the test."""
        folder, _, name = path.rpartition("/")
        number = self.folders[folder].entries.get(name) if folder in self.folders else None
        return None if number is None else self.inodes[number].data

    def person_saves(self, path: str, data: bytes, *, durable: bool = True) -> int:
        """Somebody saves as most editors do, by a rename; returns the inode."""
        folder, _, name = path.rpartition("/")
        inode = self._inode(data)
        self._change(folder, {name: inode.number})
        self.person_wrote = True
        if durable:
            inode.durable, inode.synced = data, True
            self._sync_folder(folder)
        return inode.number

    def person_writes(self, number: int, data: bytes) -> None:
        """Somebody who has a file open writes it anew."""
        inode = self.inodes[number]
        inode.data, inode.durable, inode.synced = data, data, True
        inode.ctime = inode.mtime = self._now()
        self.person_wrote = True

    def number_of(self, path: str) -> int:
        folder, _, name = path.rpartition("/")
        return self.folders[folder].entries[name]

    def person_removes(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._change(folder, {name: None})
        self._sync_folder(folder)

    def _now(self) -> int:
        self._tick += 1
        return int(self.clock * 1e9) + self._tick

    def _inode(self, data: bytes, mode: int = stat.S_IFREG | 0o644) -> Inode:
        number = len(self.inodes) + 100
        now = self._now()
        inode = self.inodes[number] = Inode(number, mode, data, b"", not data, now, now, self.uid)
        return inode

    def _change(self, folder: str, change: dict[str, int | None]) -> None:
        changed = self.folders[folder]
        changed.changes.append(change)
        changed.mtime = int(self.clock * 1e9)
        _apply(changed.entries, change)
        for number in change.values():
            if number is not None:
                self.inodes[number].ctime = self._now()

    def _sync_folder(self, folder: str) -> None:
        synced = self.folders[folder]
        synced.durable, synced.changes = dict(synced.entries), []

    # --- The calls ---

    def _call(self, what: str) -> None:
        if self.dead:
            raise Crash
        self.calls += 1
        self.trace.append(what)
        for beginning in list(filter(what.startswith, self.meanwhile)):
            self.meanwhile.pop(beginning)(self)
        if self.chance:
            self.chance()
        if (
            self.every
            and self.calls >= self.every[0]
            and (self.calls - self.every[0]) % self.every[1] == 0
        ):
            next(self.every[2], None)
        if self.calls == self.crash_at and not self.torn:
            self.dead = True
            raise Crash
        if (number := self.faults.get(self.calls)) and what != "close":
            raise _error(number)

    def _done(self) -> None:
        """The end of a call that can be had half."""
        if self.calls == self.crash_at:
            self.dead = True
            raise Crash

    def _folder(self, fd: int) -> str:
        path = self.open_files[fd]
        assert isinstance(path, str)
        return path

    def _file(self, fd: int) -> Inode:
        number = self.open_files[fd]
        assert isinstance(number, int)
        return self.inodes[number]

    def _opened(self, what: int | str) -> int:
        self._next += 1
        self.open_files[self._next] = what
        return self._next

    def _entry(self, folder: int, name: str) -> int:
        number = self.folders[self._folder(folder)].entries.get(name)
        if number is None:
            raise _error(errno.ENOENT)
        return number

    def _free(self, folder: int, name: str) -> None:
        if name in self.folders[self._folder(folder)].entries:
            raise _error(errno.EEXIST)

    def open_folder(self, path: str) -> int:
        self._call(f"open_folder {path}")
        if path not in self.folders:
            raise _error(errno.ENOENT)
        return self._opened(path)

    def make_folder(self, folder: int, name: str) -> None:
        self._call(f"make_folder {name}")
        path = f"{self._folder(folder)}/{name}".strip("/")
        if path in self.folders:
            raise _error(errno.EEXIST)
        self.folders[path] = Folder()
        inode = self._inode(b"", stat.S_IFDIR | 0o755)
        self._change(self._folder(folder), {name: inode.number})

    def open(self, folder: int, name: str) -> int:
        self._call(f"open {name}")
        return self._opened(self._entry(folder, name))

    def create(self, folder: int, name: str, *, private: bool) -> int:
        self._call(f"create {name}")
        self._free(folder, name)
        assert len(name.encode()) <= 255
        inode = self._inode(b"", stat.S_IFREG | (0o600 if private else 0o644))
        self._change(self._folder(folder), {name: inode.number})
        return self._opened(inode.number)

    def read(self, fd: int) -> bytes:
        self._call("read")
        return self._file(fd).data

    def write(self, fd: int, raw: bytes) -> None:
        self._call("write")
        inode = self._file(fd)
        inode.synced = False
        inode.ctime = inode.mtime = self._now()
        inode.data += raw[: len(raw) // 2]
        self._done()
        inode.data += raw[len(raw) // 2 :]

    def fsync(self, fd: int) -> None:
        self._call("fsync")
        what = self.open_files[fd]
        if isinstance(what, int):
            inode = self.inodes[what]
            inode.durable, inode.synced = inode.data, True
            if self.model == "btrfs":
                self._sync_name_of(what)
        else:
            self._sync_folder(what)
        if self.model.startswith("ext4"):
            for path in self.folders:
                self._sync_folder(path)

    def _sync_name_of(self, number: int) -> None:
        for folder in self.folders.values():
            for change in list(folder.changes):
                if set(change.values()) == {number}:
                    _apply(folder.durable, change)
                    folder.changes.remove(change)

    def close(self, fd: int) -> None:
        self._call("close")
        del self.open_files[fd]

    def stat(self, fd: int) -> FileStatus:
        self._call("stat")
        what = self.open_files[fd]
        if isinstance(what, str):
            mtime = self.folders[what].mtime
            return FileStatus(stat.S_IFDIR | 0o755, self.uid, self.uid, 1, 0, 2, 0, mtime, mtime)
        return self._status(self._file(fd))

    def _status(self, inode: Inode) -> FileStatus:
        names = sum(
            number == inode.number
            for folder in self.folders.values()
            for number in folder.entries.values()
        )
        return FileStatus(
            inode.mode,
            inode.uid,
            inode.gid,
            1,
            inode.number,
            names,
            len(inode.data),
            inode.mtime,
            inode.ctime,
        )

    def look(self, folder: int, name: str) -> FileStatus | None:
        self._call(f"look {name}")
        number = self.folders[self._folder(folder)].entries.get(name)
        return None if number is None else self._status(self.inodes[number])

    def link_target(self, folder: int, name: str) -> str:
        self._call(f"link_target {name}")
        return self.inodes[self._entry(folder, name)].data.decode()

    def exchange(self, folder: int, one: str, other: str) -> None:
        self._call(f"exchange {one} {other}")
        if not self.exchanges:
            raise _error(errno.EINVAL)
        first, second = self._entry(folder, one), self._entry(folder, other)
        self._change(self._folder(folder), {one: second, other: first})

    def rename(self, folder: int, old: str, new: str) -> None:
        self._call(f"rename {old} {new}")
        self._change(self._folder(folder), {new: self._entry(folder, old), old: None})

    def rename_new(self, folder: int, old: str, new: str) -> None:
        self._call(f"rename_new {old} {new}")
        if not self.replaces_not:
            raise _error(errno.EINVAL)
        number = self._entry(folder, old)
        self._free(folder, new)
        self._change(self._folder(folder), {new: number, old: None})

    def link(self, folder: int, old: str, new: str) -> None:
        self._call(f"link {old} {new}")
        number = self._entry(folder, old)
        self._free(folder, new)
        self._change(self._folder(folder), {new: number})

    def unlink(self, folder: int, name: str) -> None:
        self._call(f"unlink {name}")
        self._entry(folder, name)
        self._change(self._folder(folder), {name: None})

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        self._call("set_owner")
        self._file(fd).uid, self._file(fd).gid = uid, gid

    def set_mode(self, fd: int, mode: int) -> None:
        self._call("set_mode")
        inode = self._file(fd)
        inode.mode = stat.S_IFMT(inode.mode) | mode

    def set_mtime(self, fd: int, mtime_ns: int) -> None:
        self._call("set_mtime")
        self._file(fd).mtime = mtime_ns

    def attributes(self, fd: int) -> dict[str, bytes]:
        self._call("attributes")
        return dict(self._file(fd).attributes)

    def set_attribute(self, fd: int, name: str, value: bytes) -> None:
        self._call("set_attribute")
        self._file(fd).attributes[name] = value

    def alone(self, fd: int, *, readers_too: bool) -> bool | None:
        self._call("alone")
        if not self.leases:
            return None
        number = self.open_files[fd]
        ours = sum(what == number for what in self.open_files.values())
        assert ours == 1, "a lease is refused to who has the file open twice"
        return not self.others.get(number if isinstance(number, int) else -1)

    def free_bytes(self, fd: int) -> int:
        self._call("free_bytes")
        return self.space


def _apply(entries: dict[str, int], change: dict[str, int | None]) -> None:
    for name, number in change.items():
        if number is None:
            entries.pop(name, None)
        else:
            entries[name] = number


def folder_states(folder: Folder, *, reordered: bool) -> list[dict[str, int]]:
    """What the disk may have seen of a folder: the first changes, or any that do not build on unseen ones."""
    count = len(folder.changes)
    chosen = (
        [
            seen
            for seen in itertools.product((False, True), repeat=count)
            if _closed(folder.changes, seen)
        ]
        if reordered and count <= 6
        else [tuple(index < end for index in range(count)) for end in range(count + 1)]
    )
    states: list[dict[str, int]] = []
    for seen in chosen:
        entries = dict(folder.durable)
        for change, is_seen in zip(folder.changes, seen, strict=True):
            if is_seen:
                _apply(entries, change)
        if entries not in states:
            states.append(entries)
    return states


def _closed(changes: list[dict[str, int | None]], seen: tuple[bool, ...]) -> bool:
    return all(
        seen[earlier]
        for later in range(len(changes))
        if seen[later]
        for earlier in range(later)
        if changes[earlier].keys() & changes[later].keys()
    )


def _torn(inode: Inode, model: Model) -> list[bytes]:
    """What may have become of bytes that were not synced."""
    data = inode.data
    half = data[: len(data) // 2]
    remains = [data, half, b""]
    if model in ("ext4-writeback", "posix"):
        remains += [bytes(len(data)), half + bytes(len(data) - len(half))]
    return list(dict.fromkeys(remains))
