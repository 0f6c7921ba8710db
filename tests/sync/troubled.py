"""A remote that lets others do things in the middle of a pass, and that fails as servers and networks do."""

import random
from collections.abc import Callable, Mapping, Sequence

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
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    RemoteBusy,
    RemoteFull,
    RemoteLocked,
    RemoteUnreachable,
)


class Troubled:
    """Passes everything on, but for what the chance of a seed puts in the way."""

    def __init__(
        self,
        remote: Remote,
        seed: int,
        *,
        rate: float,
        cuts: bool,
        meanwhile: Callable[[], None],
        saves: float = 0.0,
    ) -> None:
        self._remote, self._rate, self._meanwhile = remote, rate, meanwhile
        self._saves = saves
        """how often somebody saves, or the other device makes a pass, while a text comes down"""
        self.random = random.Random(seed)
        self.cuts = cuts
        """whether a server that is killed leaves half an upload"""
        self.calm = False
        """no more trouble: the end of a run"""

    @property
    def traits(self) -> Capabilities:
        return self._remote.traits

    @traits.setter
    def traits(self, traits: Capabilities) -> None:
        self._remote.traits = traits

    @property
    def traffic(self) -> Traffic:
        return self._remote.traffic

    def _before(self, path: str) -> None:
        if self.calm:
            return
        if self.random.random() < self._rate:
            self._meanwhile()
        if self.random.random() < self._rate / 2:
            raise self.random.choice(
                [
                    RemoteUnreachable("cut"),
                    RemoteBusy("maintenance", everywhere=True),
                    RemoteBusy("too much"),
                    RemoteLocked(path),
                    NotUnderstood("a login page"),
                ]
            )

    def _after(self, path: str) -> None:
        """The server did it, and its answer was lost."""
        if not self.calm and self.random.random() < self._rate / 2:
            raise OutcomeUnknown(path, "the connection was cut")

    def identity(self, root: Entry | None = None) -> ServerIdentity:
        if root is None:
            self._before("")
        return self._remote.identity(root)

    def list(self, folder: str = "", *, deep: bool = False) -> RemoteListing:
        self._before(folder)
        found = self._remote.list(folder, deep=deep)
        if (
            not self.calm and found.entries and self.random.random() < self._rate / 4
        ):  # eventual consistency
            left_out = self.random.choice([entry.path for entry in found.entries])
            kept = tuple(
                one
                for one in found.entries
                if one.path != left_out and not one.path.startswith(left_out + "/")
            )
            return RemoteListing(found.folder, kept, found.unknown, found.dropped)
        return found

    def look(self, path: str) -> Entry:
        self._before(path)
        return self._remote.look(path)

    def get(self, path: str, *, max_bytes: int) -> Fetched:
        self._before(path)
        fetched = self._remote.get(path, max_bytes=max_bytes)
        if not self.calm and self._saves and self.random.random() < self._saves:
            self._meanwhile()
        return fetched

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        self._before(path)
        if not self.calm and self.random.random() < self._rate / 4:
            raise RemoteFull(path)
        if self.cuts and not self.calm and raw and self.random.random() < self._rate / 4:
            self._remote.put(path, raw[: self.random.randrange(len(raw))], expected=expected)
            raise OutcomeUnknown(path, "the server was killed while it wrote")
        stored = self._remote.put(path, raw, expected=expected, after=after)
        self._after(path)
        return stored

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        self._before("")
        stored = self._remote.put_new(files)
        self._after("")
        return stored

    def delete(self, path: str, *, expected: str) -> None:
        self._before(path)
        self._remote.delete(path, expected=expected)
        self._after(path)

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        self._before(path)
        stored = self._remote.move(path, to, expected=expected)
        self._after(path)
        return stored

    def mkcol(self, path: str) -> PutResult:
        self._before(path)
        stored = self._remote.mkcol(path)
        self._after(path)
        return stored

    def rmcol(self, path: str) -> None:
        self._before(path)
        self._remote.rmcol(path)
        self._after(path)

    def rmtree(self, path: str) -> None:
        self._before(path)
        self._remote.rmtree(path)
        self._after(path)

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        self._before(path)
        return self._remote.versions(path, fileid=fileid)

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        self._before(path)
        return self._remote.get_version(path, version, max_bytes=max_bytes)

    def tidy(self) -> None:
        self._remote.tidy()

    def refuses(self, path: str) -> str | None:
        return self._remote.refuses(path)

    def probe(self) -> Capabilities:
        return self._remote.probe()

    def close(self) -> None:
        self._remote.close()
