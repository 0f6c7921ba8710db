"""From the vault into the index: a pure plan, and one transaction a note."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.ingest.crumbs import ENDED_TWICE
    from vault_memory.ingest.embed import embed_pending
    from vault_memory.ingest.notes import forget_note, ingest_note
    from vault_memory.ingest.pending import PendingIndex
    from vault_memory.ingest.plan import IngestPlan, plan_ingest, stamp
    from vault_memory.ingest.scan import Ingest, ScanReport
    from vault_memory.ingest.sweep import Sweep
    from vault_memory.ingest.turns import TurnIngest

__all__ = [
    "ENDED_TWICE",
    "Ingest",
    "IngestPlan",
    "PendingIndex",
    "ScanReport",
    "Sweep",
    "TurnIngest",
    "embed_pending",
    "forget_note",
    "ingest_note",
    "plan_ingest",
    "stamp",
]

# Who records a turn or asks needs little of it: each part is loaded when it is first asked for.
_NAMES = {
    "crumbs": ("ENDED_TWICE",),
    "embed": ("embed_pending",),
    "notes": ("forget_note", "ingest_note"),
    "pending": ("PendingIndex",),
    "plan": ("IngestPlan", "plan_ingest", "stamp"),
    "scan": ("Ingest", "ScanReport"),
    "sweep": ("Sweep",),
    "turns": ("TurnIngest",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"vault_memory.ingest.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
