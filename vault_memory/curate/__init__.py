"""Curating: carrying small edits out on notes that people edit too, recorded, so that each can be seen and undone."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.curate.announce import Announcer
    from vault_memory.curate.conflicts import Conflicts
    from vault_memory.curate.copies import ConflictCopy, Resolved
    from vault_memory.curate.curator import CURATED, UNATTENDED, Curator
    from vault_memory.curate.edit import AppliedOp, Edit, PendingOp, ProposedOp, RejectedOp
    from vault_memory.curate.errors import NotCurated, NoteChanged, NotRecorded, UnclearId
    from vault_memory.curate.forget import Forgetter, Forgetting
    from vault_memory.curate.plan import Run
    from vault_memory.curate.versions import NoteVersion, Waiting

__all__ = [
    "CURATED",
    "UNATTENDED",
    "Announcer",
    "AppliedOp",
    "ConflictCopy",
    "Conflicts",
    "Curator",
    "Edit",
    "Forgetter",
    "Forgetting",
    "NotCurated",
    "NotRecorded",
    "NoteChanged",
    "NoteVersion",
    "PendingOp",
    "ProposedOp",
    "RejectedOp",
    "Resolved",
    "Run",
    "UnclearId",
    "Waiting",
]

_MODULES = {
    "Announcer": "announce",
    **dict.fromkeys(("CURATED", "UNATTENDED", "Curator"), "curator"),
    **dict.fromkeys(("ConflictCopy", "Resolved"), "copies"),
    "Conflicts": "conflicts",
    **dict.fromkeys(("AppliedOp", "Edit", "PendingOp", "ProposedOp", "RejectedOp"), "edit"),
    **dict.fromkeys(("NoteChanged", "NotCurated", "NotRecorded", "UnclearId"), "errors"),
    **dict.fromkeys(("Forgetter", "Forgetting"), "forget"),
    "Run": "plan",
    **dict.fromkeys(("NoteVersion", "Waiting"), "versions"),
}


def __getattr__(name: str) -> object:
    """Loaded when it is asked for: a search writes nothing."""
    if name in _MODULES:
        return getattr(import_module(f"vault_memory.curate.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
