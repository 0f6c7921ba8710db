"""Reports the state of a vault: index, sync, night, inbox, conflict copies, pending writes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from vault_memory.contract import as_json
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.index.properties import property_values

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.status_answers import LayoutStatusJson, StatusJson
    from vault_memory.search.vault_layout import LayoutReport


LAYOUT_COMMAND = "vault-memory layout"
"""Shows and sets the layout of a vault"""
Default = TypeVar("Default")
Value = TypeVar("Value")


def status(memory: "VaultMemory", now: "datetime | None" = None) -> "StatusJson":
    """Return the status without a daemon; a daemon replaces its own keys."""
    vault = memory.vault
    index = vault.indexing.index()
    freshness = memory.searcher.freshness()
    notes, chunks = index.counts()
    return {
        "vault": str(vault.root),
        "layout": _layout(memory),
        "index": {
            "notes": notes,
            "chunks": chunks,
            "stale_files": list(freshness.stale_files),
            "missing_notes": freshness.missing_notes,
            "generation": vault.indexing.generations.current,
            "parked": {path: reason for path, (reason, _) in index.parked().items()},
            "encodings": property_values.encodings(index),
        },
        "semantic": freshness.semantic,
        "reason": freshness.reason,
        "watcher": {"mode": "off", "healthy": False, "reason": "no daemon"},
        "sync": memory.sync.status(),
        "night": read_or(None, lambda: memory.learning.status(now)),
        "inbox_open": read_or(0, lambda: len(memory.edits.inbox())),
        "conflicts": read_or(0, memory.conflicts.count),
        "pending": as_json(read_or([], memory.edits.waiting)),
        "daemon": {"running": False, "pid": None},
        "state_folder": str(vault.state.path),
        "drop_folder": str(memory.conversations.drop_folder.make()),
    }


def _layout(memory: "VaultMemory") -> "LayoutStatusJson":
    """Return the layout; without counts when the vault is unreachable."""
    try:
        return of_layout(memory.vault.layout_report())
    except VaultMemoryError as error:
        # The vault is unreachable: the other keys of the status are still right.
        report = memory.vault.layout_report(with_counts=False)
        return {**of_layout(report), "remark": error.message}


def of_layout(report: "LayoutReport") -> "LayoutStatusJson":
    """Return the layout of a vault, a part of the answers of `status`, `init` and `layout`."""
    survey = report.survey
    return {
        "name": report.name,
        "chosen_by": report.chosen_by,
        "claimed": survey.claimed,
        "unclaimed": survey.unclaimed,
        "excluded": survey.excluded,
        "examples": list(survey.examples),
        "daily": report.daily,
        "remark": report.remark,
        "command": LAYOUT_COMMAND,
    }


def read_or(default: Default, read: Callable[[], Value]) -> Default | Value:
    """Return what `read` returns; the default while the vault or its index cannot be read.

    The other parts of a report are still right: the vault may be unreachable, its index damaged,
    or the disk full.
    """
    try:
        return read()
    except (VaultMemoryError, DatabaseError, OSError):
        return default
