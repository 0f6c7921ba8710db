"""From the vault into the index: a pure plan, and one transaction a note."""

from vault_memory.ingest.crumbs import ENDED_TWICE
from vault_memory.ingest.embed import embed_pending
from vault_memory.ingest.notes import forget_note, ingest_note
from vault_memory.ingest.pending import PendingIndex
from vault_memory.ingest.plan import IngestPlan, plan_ingest, stamp
from vault_memory.ingest.scan import Ingest, ScanReport

__all__ = [
    "ENDED_TWICE",
    "Ingest",
    "IngestPlan",
    "PendingIndex",
    "ScanReport",
    "embed_pending",
    "forget_note",
    "ingest_note",
    "plan_ingest",
    "stamp",
]
