"""What any remote can do, whatever server stands behind it; every one of them passes the same contract suite.

Paths are relative to the remote's folder, with ``/``, never with one at the ends; ``""`` is the folder itself.
A listing is complete or an error. An ETag is opaque: it goes back to the server just as it came from here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a folder on the server."""

    path: str
    """Decoded, as the server spells it (NFC or not)"""
    is_folder: bool
    etag: str
    """For ``expected``; "" for a folder whose server gives none"""
    size: int = 0
    modified: int = 0
    """Unix seconds, 0 when unknown; not for decisions, server clocks are wrong"""
    fileid: str = ""
    """Kept by overwriting and moving; "" where the server has no such thing"""
    checksum: str = ""
    """SHA-256 in hex if the uploader told the server; the server does not verify it"""
    confirmed: bool = True
    """False: the tag is so young that another write may hide behind it, or it is weak; look again in 2 s"""
    fingerprint: str = ""
    """Of the remote's own folder only: changes when the server was restored from a backup"""


@dataclass(frozen=True, slots=True)
class Listing:
    """All that is in a folder. What is in neither ``entries`` nor ``unknown`` is not there."""

    folder: Entry
    entries: tuple[Entry, ...]
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Paths that are there, or whose content is, without being known, with the reason; all below them is unknown too"""
    dropped: int = 0
    """How many lines led out of the folder and were left out"""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which folder of whom this is. When any part changes, it may be another folder: nothing is deleted then."""

    server: str
    """Scheme, host and port, and the folder's path"""
    user: str
    root_id: str
    """The fileid of the folder, or "" """
    fingerprint: str
    """Changes when the server was restored from a backup; or "" """


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a server honours. The values at hand are those of the strictest common server; ``probe`` finds out."""

    etags: bool = True
    """False: the server gives none in listings; size and time stand in for them"""
    conditional_create: bool = True
    """A create fails when something is there"""
    conditional_put: bool = True
    """An overwrite fails when the tag is another one; two-way sync needs it, and conditional_create"""
    conditional_delete: bool = True
    conditional_move: bool = False
    etag_in_put: bool = True
    recursive_etags: bool = False
    """A folder's tag changes with anything below it"""
    fileids: bool = False
    checksums: bool = False
    normalises_names: bool = False
    """NFC and NFD spellings are one file"""
    infinity: bool = False
    """One request lists a whole tree"""
    versions: bool = False
    """What a write replaced can be had again"""
    bulk: bool = False
    """Many new files travel in one request"""

    @property
    def two_way(self) -> bool:
        """Whether nobody's write can be lost for want of a precondition."""
        return (
            self.etags
            and self.conditional_create
            and self.conditional_put
            and self.conditional_delete
        )


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file's bytes, complete, and the tag that goes with exactly these."""

    raw: bytes
    etag: str
    confirmed: bool = True
    modified: int = 0
    """Unix seconds: the time that the server gives the file; 0 when it tells none"""
    checksum: str = ""
    """the SHA-256 that the sender gave for these bytes; "" when there is none"""


@dataclass(frozen=True, slots=True)
class PutResult:
    """What the server says about what it just stored; "" for what it does not say."""

    etag: str = ""
    fileid: str = ""
    checksum: str = ""
    confirmed: bool = False
    modified: int = 0
    """Unix seconds: the time that the server now lists for the file, where it was told one; 0 when unknown"""
    date: int = 0
    """Unix seconds: the server's clock when it answered"""
    replaced: bool = False
    """A file that was to be created was there already, and has been written over"""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Bytes that a file had once, or has now, as the server keeps them.

    Those of now may be listed and not be had: then `get_version` raises RemoteMissing. Where two writes of one second
    share an entry, it has the size of the later one, and `get_version` gives the earlier one.
    """

    id: str
    """For ``get_version``"""
    modified: int
    """Unix seconds: when the file got these bytes"""
    size: int


@dataclass(slots=True)
class Traffic:
    """What was asked of the server so far."""

    requests: int = 0
    sent: int = 0
    received: int = 0


class Remote(Protocol):
    """A folder on a server. Each method raises the errors of this room, and only those, as its last word."""

    traits: Capabilities
    traffic: Traffic

    def identity(self, root: Entry | None = None) -> Identity:
        """Which folder this is; nothing is asked when its own entry, as just listed, is given."""
        ...

    def list(self, folder: str = "", *, deep: bool = False) -> Listing:
        """All that is in a folder, or with ``deep`` in all folders below; RemoteMissing, or RootMissing for ""."""
        ...

    def look(self, path: str) -> Entry:
        """The one thing at a path, without what is in it."""
        ...

    def get(self, path: str, *, max_bytes: int) -> Fetched: ...

    def put(
        self, path: str, raw: bytes, *, expected: str | None, after: int = 0
    ) -> PutResult:
        """Write a whole file over the one with that tag; with None only if nothing is there yet.

        `after`: the time that the server listed for the file that is written over, 0 when unknown.
        """
        ...

    def put_new(
        self, files: Sequence[tuple[str, bytes]]
    ) -> Mapping[str, PutResult | None]:
        """Store files, which a listing did not have, in one request without any precondition.

        Returns what was stored, `replaced` where a file may have been there already. None: it is not known whether
        the file was stored. A file that is left out was not stored; `put` tells why.
        Raises Refused when the server does not take such requests, and OutcomeUnknown when nothing is known of any.
        """
        ...

    def delete(self, path: str, *, expected: str) -> None:
        """Remove a file that still has that tag."""
        ...

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        """Rename, never over something; a folder takes no ``expected``."""
        ...

    def mkcol(self, path: str) -> PutResult:
        """Make one folder; RemoteChanged when something is there, ParentMissing when its folder is not."""
        ...

    def rmcol(self, path: str) -> None:
        """Remove a folder that a fresh look shows empty; FolderNotEmpty otherwise."""
        ...

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        """The earlier bytes of a file, the newest first, often with those of now; empty where none are kept."""
        ...

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        """The bytes of one of them; RemoteMissing when the server keeps it no longer."""
        ...

    def refuses(self, path: str) -> str | None:
        """Why the server never takes the name of a path, as far as that is known beforehand."""
        ...

    def probe(self) -> Capabilities:
        """Find out what the server honours, on a scratch folder that is gone afterwards; kept in ``traits``."""
        ...

    def tidy(self) -> None:
        """Remove what trying out has left behind when it was killed, once that is an hour old."""
        ...

    def close(self) -> None: ...
