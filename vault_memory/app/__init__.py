"""The public API: class VaultMemory, and what its calls give back."""

from vault_memory.app.locate import locate
from vault_memory.app.memory import VaultMemory
from vault_memory.app.results import (
    Check,
    ContextBlock,
    Cut,
    Ended,
    Freshness,
    IndexReport,
    NoteInfo,
    NoteText,
    Part,
    Recorded,
    SearchAnswer,
    SyncReport,
)
from vault_memory.app.state import StateFolder, TwoCopies, claim, state_of, state_root

__all__ = [
    "Check",
    "ContextBlock",
    "Cut",
    "Ended",
    "Freshness",
    "IndexReport",
    "NoteInfo",
    "NoteText",
    "Part",
    "Recorded",
    "SearchAnswer",
    "StateFolder",
    "SyncReport",
    "TwoCopies",
    "VaultMemory",
    "claim",
    "locate",
    "state_of",
    "state_root",
]
