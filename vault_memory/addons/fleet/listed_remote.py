"""A home that is listed once for two readers: the sync engine, and the look for a new bundle."""

from collections.abc import Mapping, Sequence

from vault_memory.remote.contract import (
    Capabilities,
    Entry,
    Fetched,
    FileVersion,
    PutResult,
    Remote,
    RemoteListing,
    ServerIdentity,
    Traffic,
)


class ListedRemote:
    """Passes each call on to a remote. An answer of `prefetch` serves one later call, too."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.kind = remote.kind
        self.traffic: Traffic = remote.traffic
        self.is_closed = False
        self._root: Entry | None = None
        self._listing: RemoteListing | None = None

    @property
    def traits(self) -> Capabilities:
        return self._remote.traits

    @traits.setter
    def traits(self, traits: Capabilities) -> None:
        self._remote.traits = traits

    def prefetch(self, last_tag: str) -> RemoteListing | None:
        """List the home, or return None when the tag of the whole tree is still `last_tag`.

        The next `look("")` and `list("")` return what was seen, without another request.
        """
        self.forget_prefetched()
        if self.traits.recursive_etags and last_tag:
            root = self._remote.look("")
            self._root = root
            if root.etag == last_tag:
                return None
        self._listing = self._remote.list("", deep=self.traits.infinity)
        return self._listing

    def forget_prefetched(self) -> None:
        """Ask the server again at the next call."""
        self._root = self._listing = None

    def identity(self, root: Entry | None = None) -> ServerIdentity:
        return self._remote.identity(root)

    def list(self, folder: str = "", *, deep: bool = False) -> RemoteListing:
        listing, self._listing = self._listing, None
        if listing is not None and not folder and deep == self.traits.infinity:
            return listing
        return self._remote.list(folder, deep=deep)

    def look(self, path: str) -> Entry:
        if not path and self._root is not None:
            root, self._root = self._root, None
            return root
        return self._remote.look(path)

    def get(self, path: str, *, max_bytes: int) -> Fetched:
        return self._remote.get(path, max_bytes=max_bytes)

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        return self._remote.put(path, raw, expected=expected, after=after)

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        return self._remote.put_new(files)

    def delete(self, path: str, *, expected: str) -> None:
        self._remote.delete(path, expected=expected)

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        return self._remote.move(path, to, expected=expected)

    def mkcol(self, path: str) -> PutResult:
        return self._remote.mkcol(path)

    def rmcol(self, path: str) -> None:
        self._remote.rmcol(path)

    def rmtree(self, path: str) -> None:
        self._remote.rmtree(path)

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        return self._remote.versions(path, fileid=fileid)

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        return self._remote.get_version(path, version, max_bytes=max_bytes)

    def refuses(self, path: str) -> str | None:
        return self._remote.refuses(path)

    def probe(self) -> Capabilities:
        return self._remote.probe()

    def tidy(self) -> None:
        self._remote.tidy()

    def close(self) -> None:
        self.is_closed = True
        self._remote.close()
