"""The contract of a remote. Every remote passes the same suite of tests.

Paths are relative to the remote's folder, with ``/`` between names only; ``""`` is the folder itself.
A listing is complete or an error. An ETag is opaque: it returns to the server as it came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder on the server."""

    path: str
    """decoded, in the Unicode form of the server"""
    is_folder: bool
    etag: str
    """for ``expected``; "" for a folder on a server that gives folders none"""
    size: int = 0
    modified: int = 0
    """in Unix seconds, 0 when unknown; server clocks are often wrong"""
    fileid: str = ""
    """stays the same after an overwrite or a move; "" on a server without ids"""
    checksum: str = ""
    """SHA-256 in hex, if the uploader sent it; the server does not verify it"""
    confirmed: bool = True
    """False: the tag is so new that another write may have the same one, or it is weak; check again after 2 s"""
    fingerprint: str = ""
    """of the remote's own folder only: changes when the server is restored from a backup"""


@dataclass(frozen=True, slots=True)
class RemoteListing:
    """The contents of a folder. A path that is in neither `entries` nor `unknown` is absent."""

    folder: Entry
    entries: tuple[Entry, ...]
    unknown: Mapping[str, str] = field(default_factory=dict)
    """existing paths that are not understood, with the reason; everything below them is unknown, too"""
    dropped: int = 0
    """the number of lines that led out of the folder"""


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """The identity of the remote's folder. When any part changes, nothing is deleted: it may be another folder."""

    server: str
    """scheme, host and port, and the folder's path"""
    user: str
    root_id: str
    """the fileid of the folder, or "" """
    fingerprint: str
    """changes when the server is restored from a backup; or "" """


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a server can do. The defaults are those of the strictest common server; `probe` finds out."""

    etags: bool = True
    """False: listings have no tags; size and time serve instead"""
    conditional_create: bool = True
    """creating a file fails when the path exists"""
    conditional_put: bool = True
    """an overwrite fails when the tag differs; two-way sync needs it, and `conditional_create`"""
    conditional_delete: bool = True
    conditional_move: bool = False
    etag_in_put: bool = True
    recursive_etags: bool = False
    """the tag of a folder changes with any change below it"""
    fileids: bool = False
    checksums: bool = False
    normalises_names: bool = False
    """names in NFC and NFD mean the same file"""
    infinity: bool = False
    """one request lists a whole tree"""
    versions: bool = False
    """the server keeps what a write replaced"""
    bulk: bool = False
    """one request uploads many new files"""
    trash: bool = False
    """the server keeps what is deleted, a folder with everything below it"""
    parents: ClassVar[bool] = True
    """a file needs the folder above it; not stored, since it belongs to the kind of server"""

    @property
    def two_way(self) -> bool:
        """Whether the preconditions are complete, so that no device overwrites another's edit unseen."""
        return (
            self.etags
            and self.conditional_create
            and self.conditional_put
            and self.conditional_delete
        )


@dataclass(frozen=True, slots=True)
class KeyCapabilities(Capabilities):
    """What a server of keys can do: a file brings the folder above it along."""

    parents: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """The complete bytes of a file, and the tag of exactly these."""

    raw: bytes
    etag: str
    confirmed: bool = True
    modified: int = 0
    """in Unix seconds: the server's time of the file; 0 when unknown"""
    checksum: str = ""
    """the SHA-256 that the uploader sent for these bytes, or "" """


@dataclass(frozen=True, slots=True)
class PutResult:
    """What the server reports about a stored file; "" for what it leaves out."""

    etag: str = ""
    fileid: str = ""
    checksum: str = ""
    confirmed: bool = False
    modified: int = 0
    """Unix seconds: the time that the server lists for the file, if the request set it; 0 when unknown"""
    date: int = 0
    """Unix seconds: the server's clock when it answered"""
    replaced: bool = False
    """whether a file existed that should have been new, and was overwritten"""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Earlier or current bytes of a file that the server keeps.

    The current ones may be listed and not available: then `get_version` raises RemoteMissing. When two
    writes of one second share an entry, it has the size of the later one and the bytes of the earlier one.
    """

    id: str
    """for `get_version`"""
    modified: int
    """in Unix seconds: when the file got these bytes"""
    size: int


@dataclass(slots=True)
class Traffic:
    """The requests to the server so far."""

    requests: int = 0
    sent: int = 0
    received: int = 0


class Remote(Protocol):
    """A folder on a server. Its methods raise only RemoteErrors."""

    kind: str
    """what kind of server it is, for people"""
    traits: Capabilities
    traffic: Traffic

    def identity(self, root: Entry | None = None) -> ServerIdentity:
        """The identity of the folder; without a request when its current entry is given."""
        ...

    def list(self, folder: str = "", *, deep: bool = False) -> RemoteListing:
        """List a folder, or with `deep` the whole tree. Raises RemoteMissing, or RootMissing for ""."""
        ...

    def look(self, path: str) -> Entry:
        """The entry of one path."""
        ...

    def get(self, path: str, *, max_bytes: int) -> Fetched: ...

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        """Replace the file with that tag, or create a file that does not exist yet (None).

        `after`: the server's time of the file that is replaced, 0 when unknown.
        """
        ...

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        """Store new files in one request without any precondition.

        Returns the stored files by path, with `replaced` where a file may have existed. None: the outcome of
        that file is unknown. A missing file was not stored; `put` reports the reason.
        Raises Refused when the server takes no such requests, and OutcomeUnknown for all files.
        """
        ...

    def delete(self, path: str, *, expected: str) -> None:
        """Remove a file, if it still has that tag."""
        ...

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        """Rename to a free name. For a folder, `expected` is None."""
        ...

    def mkcol(self, path: str) -> PutResult:
        """Make one folder. Raises RemoteChanged when the path exists, ParentMissing without a parent."""
        ...

    def rmcol(self, path: str) -> None:
        """Remove a folder, if a new listing of it is empty. Raises FolderNotEmpty."""
        ...

    def rmtree(self, path: str) -> None:
        """Remove a folder with everything below it, on no condition.

        Raises Refused where the server has no trash.
        """
        ...

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        """The versions of a file, the newest first, often with the current one; empty where none are kept."""
        ...

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        """The bytes of a version. Raises RemoteMissing when the server no longer keeps it."""
        ...

    def refuses(self, path: str) -> str | None:
        """Why the server never accepts the name of a path; None when that is not known beforehand."""
        ...

    def probe(self) -> Capabilities:
        """Find out what the server can do, in a scratch folder that is removed. Sets `traits`."""
        ...

    def tidy(self) -> None:
        """Remove the scratch folders of interrupted probes that are an hour old."""
        ...

    def close(self) -> None: ...
