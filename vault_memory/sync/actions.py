"""What a plan may ask for. Each action names what it rests on, to be looked at again at the last moment.

A precondition that no longer holds means: observe this path again. Each class says what is recorded afterwards.
"""

from dataclasses import dataclass

from vault_memory.sync.trees import BaseDir, BaseFile, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    path: str
    row: str = ""
    """of the table in `table.py`, or the name of the rule that asked for it"""
    note: str = ""
    """for the person to review, once it has been done"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload(_Step):
    """Put the local file on the server. Then: both hold `hash`, with the new tag."""

    hash: str
    """of the local file"""
    tag: str | None
    """``If-Match``; None: ``If-None-Match: *``"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download(_Step):
    """Swap in the file of the server. The bytes that were fetched, and their tag, are what is recorded."""

    hash: str | None
    """of the local file; None: there must be none"""
    tag: str
    """as listed"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(_Step):
    """Fetch, and merge with the nearest snapshot; the same bytes are only recorded.

    The local swap comes first, then the upload. What cannot be merged: the server keeps the name and the local file
    becomes `copy`. Until the upload, the base is what was fetched.
    """

    hash: str
    tag: str
    base: str | None
    """the hash both last held; None: no common text is known"""
    copy: str
    upload: bool = True
    """False where the server is only read"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refetch(_Step):
    """Fetch only to know the hash behind this tag, which the next plan needs. Nothing is recorded as base."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRemote(_Step):
    """Delete a file on the server, ``If-Match``. Then: the base is forgotten."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashLocal(_Step):
    """Take a local file to the trash, if it still is `hash`. Then: the base is forgotten."""

    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRemoteDir(_Step):
    """MKCOL. Then: a directory is the base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeLocalDir(_Step):
    """mkdir. Then: a directory is the base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRemoteDir(_Step):
    """Delete a collection, if a fresh listing of it is empty. Then: the base is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLocalDir(_Step):
    """rmdir. Then: the base is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRemote(_Step):
    """MOVE, ``Overwrite: F``. Then: the base at `record`, and all below it, is found at `to`.

    The tag it has then is recorded where it was `unedited`; else the old one stays, and the edit is still to come.
    """

    to: str
    tag: str = ""
    """``If-Match``; empty: no such condition, for directories and names in between"""
    record: str = ""
    """empty: the base stays as it is"""
    unedited: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveLocal(_Step):
    """Rename on disk, onto nothing. Then: the base at `record`, and all below it, is found at `to`."""

    to: str
    hash: str | None = None
    """of the local file; None for a directory"""
    record: str = ""
    """empty: the base stays as it is"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveBase(_Step):
    """It is renamed already: only the record follows."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepBoth(_Step):
    """Rename one side's file to `copy`, onto nothing. Then: a base at `path`, if of a file, is forgotten."""

    side: Side
    copy: str
    hash: str | None = None
    """of the local file"""
    tag: str = ""
    """of the remote one"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInSync(_Step):
    """Both sides are the same already: record it."""

    base: BaseFile | BaseDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(_Step):
    """The same bytes under another tag or id: record that."""

    base: BaseFile | BaseDir


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetBase(_Step):
    """It is on neither side, or no longer ours. Snapshots are kept."""


Delete = DeleteRemote | TrashLocal
RemoveDir = RemoveRemoteDir | RemoveLocalDir
MakeDir = MakeRemoteDir | MakeLocalDir
Move = MoveRemote | MoveLocal
Recording = RecordInSync | Refresh | ForgetBase | MoveBase
Action = (
    Upload
    | Download
    | Merge
    | Refetch
    | Delete
    | RemoveDir
    | MakeDir
    | Move
    | KeepBoth
    | Recording
)


def changes(action: Action) -> frozenset[Side]:
    """Which sides it writes to."""
    match action:
        case (
            Upload()
            | DeleteRemote()
            | MakeRemoteDir()
            | RemoveRemoteDir()
            | MoveRemote()
        ):
            return frozenset({"remote"})
        case (
            Download() | TrashLocal() | MakeLocalDir() | RemoveLocalDir() | MoveLocal()
        ):
            return frozenset({"local"})
        case Merge():
            return frozenset({"local", "remote"} if action.upload else {"local"})
        case KeepBoth():
            return frozenset({action.side})
        case _:
            return frozenset()
