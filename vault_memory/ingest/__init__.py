"""From the vault into the index: a pure plan, and one transaction a note."""

from typing import TYPE_CHECKING

from vault_memory.ingest.crumbs import ENDED_TWICE
from vault_memory.ingest.notes import forget_note, ingest_note
from vault_memory.ingest.pending import PendingIndex
from vault_memory.ingest.plan import IngestPlan, plan_ingest, stamp
from vault_memory.ingest.scan import Ingest, ScanReport

if TYPE_CHECKING:
    from vault_memory.ingest.embed import embed_pending
    from vault_memory.ingest.turns import TurnIngest

__all__ = [
    "ENDED_TWICE",
    "Ingest",
    "IngestPlan",
    "PendingIndex",
    "ScanReport",
    "TurnIngest",
    "embed_pending",
    "forget_note",
    "ingest_note",
    "plan_ingest",
    "stamp",
]


def __getattr__(name: str) -> object:
    if name == "TurnIngest":
        from vault_memory.ingest.turns import TurnIngest

        return TurnIngest
    if name == "embed_pending":
        from vault_memory.ingest.embed import embed_pending

        return embed_pending
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
