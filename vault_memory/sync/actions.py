"""The actions of a plan. Each action names its preconditions, which are checked right before it is done.

When a precondition does not hold, the path is observed again. Each class says what is recorded afterwards.
"""

from dataclasses import dataclass

from vault_memory.sync.trees import BaseDir, BaseFile, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class _PathAction:
    path: str
    row: str = ""
    """of the table in `plan/decision_table.py`, or the rule that needs the action"""
    note: str = ""
    """for a person to review, once the action is done"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload(_PathAction):
    """Upload the local file. Then the base is `hash`, with the new tag."""

    hash: str
    """of the local file"""
    tag: str | None
    """``If-Match``; None: ``If-None-Match: *``"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download(_PathAction):
    """Swap in the server's file. Then the base is the fetched bytes and their tag."""

    hash: str | None
    """of the local file; None: no local file may exist"""
    tag: str
    """as listed"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(_PathAction):
    """Fetch, and merge with the nearest snapshot; equal bytes are only recorded.

    The local swap comes first, then the upload. When no merge is possible, the server's file keeps the
    name and the local file becomes `copy`. Until the upload, the base is what was fetched.
    """

    hash: str
    tag: str
    base: str | None
    """the hash of the base; None: no common text is known"""
    copy: str
    upload: bool = True
    """False where the server is only read"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refetch(_PathAction):
    """Fetch the hash behind a tag, which the next plan needs. The base stays."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRemote(_PathAction):
    """Delete a file on the server, ``If-Match``. Then the base is forgotten."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashLocal(_PathAction):
    """Move a local file to the trash, if it is still `hash`. Then the base is forgotten."""

    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRemoteDir(_PathAction):
    """Make a collection on the server. Then the base is a directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeLocalDir(_PathAction):
    """Make a directory. Then the base is a directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRemoteDir(_PathAction):
    """Delete a collection, if a new listing of it is empty. Then the base is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLocalDir(_PathAction):
    """Remove an empty directory. Then the base is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRemote(_PathAction):
    """MOVE with ``Overwrite: F``. Then the base at `record`, and everything below it, moves to `to`.

    The new tag is recorded if the file was `unedited`; else the old one stays, so that the edit is seen.
    """

    to: str
    tag: str = ""
    """``If-Match``; empty: no such condition, for directories and temporary names"""
    record: str = ""
    """empty: the base stays as it is"""
    unedited: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveLocal(_PathAction):
    """Rename on disk to a free name. Then the base at `record`, and everything below it, moves to `to`."""

    to: str
    hash: str | None = None
    """of the local file; None for a directory"""
    record: str = ""
    """empty: the base stays as it is"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveBase(_PathAction):
    """Move the base of what both sides have renamed already."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepBoth(_PathAction):
    """Rename one side's file to the free name `copy`. Then the base of a file at `path` is forgotten."""

    side: Side
    copy: str
    hash: str | None = None
    """of the local file"""
    tag: str = ""
    """of the remote one"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInSync(_PathAction):
    """Record that both sides are the same already."""

    base: BaseFile | BaseDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(_PathAction):
    """Record another tag or id of the same bytes."""

    base: BaseFile | BaseDir


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetBase(_PathAction):
    """Forget the base of a path that neither side has, or that is no longer synced. Snapshots stay."""


Delete = DeleteRemote | TrashLocal
RemoveDir = RemoveRemoteDir | RemoveLocalDir
MakeDir = MakeRemoteDir | MakeLocalDir
Move = MoveRemote | MoveLocal
Recording = RecordInSync | Refresh | ForgetBase | MoveBase
Action = (
    Upload | Download | Merge | Refetch | Delete | RemoveDir | MakeDir | Move | KeepBoth | Recording
)


def changes(action: Action) -> frozenset[Side]:
    """The sides that an action writes to."""
    match action:
        case Upload() | DeleteRemote() | MakeRemoteDir() | RemoveRemoteDir() | MoveRemote():
            return frozenset({"remote"})
        case Download() | TrashLocal() | MakeLocalDir() | RemoveLocalDir() | MoveLocal():
            return frozenset({"local"})
        case Merge():
            return frozenset({"local", "remote"} if action.upload else {"local"})
        case KeepBoth():
            return frozenset({action.side})
        case _:
            return frozenset()
