"""A remote in memory: the model of the contract suite, and a server for experiments."""

import hashlib
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import time

from vault_memory.remote.contract import (
    Capabilities,
    Entry,
    Fetched,
    FileVersion,
    PutResult,
    RemoteListing,
    ServerIdentity,
    Traffic,
)
from vault_memory.remote.remote_errors import (
    NO_TRASH,
    OWN_FOLDER,
    FolderNotEmpty,
    NotUnderstood,
    ParentMissing,
    Refused,
    RemoteChanged,
    RemoteMissing,
    RootMissing,
)

PLAIN = Capabilities(conditional_move=True, infinity=True)
NEXTCLOUD = Capabilities(
    conditional_move=True,
    recursive_etags=True,
    fileids=True,
    checksums=True,
    normalises_names=True,
    infinity=True,
    versions=True,
    trash=True,
)


@dataclass(slots=True)
class _Node:
    number: int
    raw: bytes | None
    """None for a folder"""
    etag: str = ""
    modified: int = 0
    versions: list[tuple[int, bytes]] = field(default_factory=list)
    """the times and bytes of the replaced texts, the oldest first"""


@dataclass(slots=True)
class RamServer:
    """A server that several remotes share, as devices do."""

    traits: Capabilities = PLAIN
    clock: Callable[[], float] = time
    fingerprint: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    trash: list[tuple[str, bytes | None]] = field(default_factory=list)
    """what was deleted with its folder, where the server has a trash"""
    _nodes: dict[str, _Node] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self._nodes[""] = self._node(None)

    def _node(self, raw: bytes | None) -> _Node:
        self._count += 1
        return _Node(self._count, raw, self._tag(), int(self.clock()))

    def _tag(self) -> str:
        self._count += 1
        return f'"{self._count:x}"'


class RamRemote:
    """One device's view of a RamServer."""

    kind = "memory"

    def __init__(self, server: RamServer | None = None, *, user: str = "ram") -> None:
        self.server = server or RamServer()
        self.traits = self.server.traits
        self.traffic = Traffic()
        self._user = user

    def identity(self, root: Entry | None = None) -> ServerIdentity:
        if root is not None:
            return ServerIdentity("ram:", self._user, root.fileid, root.fingerprint)
        with self._request():
            root = self._entry("")
            return ServerIdentity("ram:", self._user, root.fileid, self.server.fingerprint)

    def list(self, folder: str = "", *, deep: bool = False) -> RemoteListing:
        with self._request():
            key = self._key(folder)
            if self._find(key).raw is not None:
                raise NotUnderstood("it is a file, not a folder", path=folder)
            below = [path for path in self.server._nodes if path != key and _is_below(path, key)]
            chosen = (path for path in below if deep or _parent(path) == key)
            return RemoteListing(
                self._entry(key), tuple(self._entry(path) for path in sorted(chosen))
            )

    def look(self, path: str) -> Entry:
        with self._request():
            return self._entry(self._key(path))

    def get(self, path: str, *, max_bytes: int) -> Fetched:
        with self._request():
            node = self._find(self._key(path))
            if node.raw is None:
                raise NotUnderstood("it is a folder, not a file", path=path)
            if len(node.raw) > max_bytes:
                raise NotUnderstood(f"the answer is longer than {max_bytes} bytes", path=path)
            self.traffic.received += len(node.raw)
            return Fetched(node.raw, node.etag)

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        with self._request():
            self.traffic.sent += len(raw)
            key = self._key(path)
            node = self.server._nodes.get(key)
            self._need_parent(key)
            if node is None:
                if expected is not None:
                    raise RemoteChanged(path)
                self.server._nodes[key] = self.server._node(raw)
                return self._touched(key)
            if node.raw is None or node.etag != expected:
                raise RemoteChanged(path)
            node.versions.append((node.modified, node.raw))
            node.raw, node.etag = raw, self.server._tag()
            node.modified = int(self.server.clock())
            return self._touched(key)

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        raise Refused("", "it does not take many files in one request")

    def delete(self, path: str, *, expected: str) -> None:
        with self._request():
            key = self._key(path)
            node = self._find(key)
            if node.raw is None or node.etag != expected:
                raise RemoteChanged(path)
            del self.server._nodes[key]
            self._touch(_parent(key))

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        with self._request():
            key, target = self._key(path), self._key(to)
            node = self._find(key)
            if _is_below(target, key):
                raise Refused(path, "it cannot be moved into itself")
            if expected is not None and node.etag != expected:
                raise RemoteChanged(path)
            self._need_parent(target)
            if target in self.server._nodes:
                raise RemoteChanged(to)
            for old in [old for old in self.server._nodes if _is_below(old, key)]:
                self.server._nodes[target + old[len(key) :]] = self.server._nodes.pop(old)
            self._touch(_parent(key))
            return self._touched(target)

    def mkcol(self, path: str) -> PutResult:
        with self._request():
            key = self._key(path)
            if key in self.server._nodes:
                raise RemoteChanged(path)
            self._need_parent(key)
            self.server._nodes[key] = self.server._node(None)
            return self._touched(key)

    def rmcol(self, path: str) -> None:
        with self._request():
            key = self._key(path)
            if key == "":
                raise Refused(path, OWN_FOLDER)
            if self._find(key).raw is not None:
                raise RemoteChanged(path)
            if any(_parent(child) == key for child in self.server._nodes if child):
                raise FolderNotEmpty(path)
            del self.server._nodes[key]
            self._touch(_parent(key))

    def rmtree(self, path: str) -> None:
        if not path or not self.traits.trash:
            raise Refused(path, NO_TRASH if path else OWN_FOLDER)
        with self._request():
            key = self._key(path)
            if self._find(key).raw is not None:
                raise RemoteChanged(path)
            for each in [each for each in self.server._nodes if _is_below(each, key)]:
                self.server.trash.append((each, self.server._nodes.pop(each).raw))
            self._touch(_parent(key))

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        with self._request():
            contents = self._contents(path)
            versions = [
                FileVersion(str(index), modified, len(raw))
                for index, (modified, raw) in enumerate(contents)
            ]
            return tuple(reversed(versions))

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        with self._request():
            contents = self._contents(path)
            if not version.id.isdecimal() or int(version.id) >= len(contents):
                raise RemoteMissing(path)
            return contents[int(version.id)][1]

    def _contents(self, path: str) -> Sequence[tuple[int, bytes]]:
        """The times and bytes of a file, the oldest first; empty where no versions are kept."""
        node = self.server._nodes.get(self._key(path))
        if node is None or node.raw is None or not self.traits.versions:
            return ()
        return (*node.versions, (node.modified, node.raw))

    def refuses(self, path: str) -> str | None:
        return None

    def probe(self) -> Capabilities:
        with self._request():
            return self.traits

    def tidy(self) -> None:
        """Do nothing: this remote has no scratch folders."""

    def close(self) -> None:
        """Do nothing: this remote has no connection."""

    @contextmanager
    def _request(self) -> Iterator[None]:
        with self.server.lock:
            self.traffic.requests += 1
            yield

    def _key(self, path: str) -> str:
        return unicodedata.normalize("NFC", path) if self.traits.normalises_names else path

    def _find(self, key: str) -> _Node:
        node = self.server._nodes.get(key)
        if node is None:
            raise RemoteMissing(key) if key else RootMissing("ram:")
        return node

    def _need_parent(self, key: str) -> None:
        parent = self.server._nodes.get(_parent(key))
        if parent is None or parent.raw is not None:
            raise ParentMissing(key)

    def _entry(self, key: str) -> Entry:
        node = self._find(key)
        raw = node.raw
        return Entry(
            path=key,
            is_folder=raw is None,
            etag=node.etag if raw is not None or self.traits.recursive_etags else "",
            size=len(raw or b""),
            modified=node.modified,
            fileid=str(node.number) if self.traits.fileids else "",
            checksum=hashlib.sha256(raw).hexdigest()
            if raw is not None and self.traits.checksums
            else "",
            fingerprint="" if key else self.server.fingerprint,
        )

    def _touched(self, key: str) -> PutResult:
        self._touch(_parent(key))
        entry = self._entry(key)
        return PutResult(
            entry.etag, entry.fileid, entry.checksum, confirmed=True, modified=entry.modified
        )

    def _touch(self, folder: str) -> None:
        while self.traits.recursive_etags:
            self.server._nodes[folder].etag = self.server._tag()
            if not folder:
                break
            folder = _parent(folder)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder, or anywhere below it."""
    return not folder or path == folder or path.startswith(f"{folder}/")
