"""The public API: class VaultMemory, and what its calls give back."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.app.blocks import ContextBlock, Cut, Part
    from vault_memory.app.memory import VaultMemory
    from vault_memory.app.recording import Recorded
    from vault_memory.app.reports import Check, Ended, IndexReport, NoteInfo, NoteText
    from vault_memory.app.results import Freshness, SearchAnswer
    from vault_memory.app.state import StateFolder, TwoCopies, claim, state_of, state_root
    from vault_memory.app.sync_report import SyncReport

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
    "state_of",
    "state_root",
]

_NAMES = {
    "blocks": ("ContextBlock", "Cut", "Part"),
    "memory": ("VaultMemory",),
    "recording": ("Recorded",),
    "reports": ("Check", "Ended", "IndexReport", "NoteInfo", "NoteText"),
    "results": ("Freshness", "SearchAnswer"),
    "state": ("StateFolder", "TwoCopies", "claim", "state_of", "state_root"),
    "sync_report": ("SyncReport",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"vault_memory.app.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
