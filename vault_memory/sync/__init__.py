"""In step with a server: what differs, what becomes of it, in which order. The plan is pure; the engine does it."""

from vault_memory.sync.actions import (
    Action,
    Adopt,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    Look,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    MoveBase,
    MoveLocal,
    MoveRemote,
    Refresh,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
    changes,
)
from vault_memory.sync.book import begin_anew, open_book
from vault_memory.sync.brakes import Rewrite, fights, missing, stamp
from vault_memory.sync.engine import Report, Sync, refuse_others
from vault_memory.sync.errors import AnotherClient, NotTwoWay
from vault_memory.sync.local import BEING_SAVED
from vault_memory.sync.order import batches
from vault_memory.sync.plan import Held, Note, Plan, plan
from vault_memory.sync.settings import Mode, Names, Settings
from vault_memory.sync.trees import Base, BaseDir, BaseFile, Dir, File, Link, Node, Special, Tree, Unknown

__all__ = [
    "BEING_SAVED",
    "Action",
    "Adopt",
    "AnotherClient",
    "Base",
    "BaseDir",
    "BaseFile",
    "DeleteRemote",
    "Dir",
    "Download",
    "File",
    "ForgetBase",
    "Held",
    "KeepBoth",
    "Link",
    "Look",
    "MakeLocalDir",
    "MakeRemoteDir",
    "Merge",
    "Mode",
    "MoveBase",
    "MoveLocal",
    "MoveRemote",
    "Names",
    "Node",
    "NotTwoWay",
    "Note",
    "Plan",
    "Refresh",
    "RemoveLocalDir",
    "RemoveRemoteDir",
    "Report",
    "Rewrite",
    "Settings",
    "Special",
    "Sync",
    "TrashLocal",
    "Tree",
    "Unknown",
    "Upload",
    "batches",
    "begin_anew",
    "changes",
    "fights",
    "missing",
    "open_book",
    "plan",
    "refuse_others",
    "stamp",
]
