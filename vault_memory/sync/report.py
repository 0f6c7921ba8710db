"""The report of a sync of several passes, and its JSON."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vault_memory.sync import connection

if TYPE_CHECKING:
    from vault_memory.sync.pass_report import PassReport

COUNTS = (
    "uploaded",
    "downloaded",
    "merged",
    "deleted_local",
    "deleted_remote",
    "renamed_local",
    "renamed_remote",
    "requests",
)


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark about one path, or about all of them when the path is empty."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did on both sides, and what is still open."""

    uploaded: int = 0
    downloaded: int = 0
    merged: int = 0
    deleted_local: int = 0
    deleted_remote: int = 0
    renamed_local: int = 0
    """files that were renamed or moved, also with their folder"""
    renamed_remote: int = 0
    conflicts: int = 0
    copies: tuple[str, ...] = ()
    """new conflict copies, since two texts could not be merged"""
    requests: int = 0
    skipped: tuple[Remark, ...] = ()
    """what is not synced at all"""
    held: tuple[Remark, ...] = ()
    """what a safety limit stopped until a person approves it"""
    waiting: tuple[Remark, ...] = ()
    """paths that a later sync decides about"""
    failed: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()
    """for a person to look at"""
    open_conflicts: tuple[str, ...] = ()
    """all conflict copies in the vault, also of earlier syncs and other programs"""
    planned: tuple[Remark, ...] = ()
    """what a dry run would do"""


def together(total: SyncReport, report: "PassReport") -> SyncReport:
    """Add the report of a pass: what was done is summed up, what is open is that of the last pass."""
    copies = tuple(dict.fromkeys((*total.copies, *report.conflicts)))
    counts = {name: getattr(total, name) + getattr(report, name) for name in COUNTS}
    return SyncReport(
        **counts,
        conflicts=len(copies),
        copies=copies,
        skipped=(*_remarks(report.skipped), *connection.kept_back(report)),
        held=connection.held_of(report),
        waiting=_remarks(report.waiting),
        failed=_remarks(report.failed),
        notes=tuple(dict.fromkeys((*total.notes, *_remarks(report.notes)))),
        planned=_remarks(report.planned),
    )


def _remarks(pairs: tuple[tuple[str, str], ...]) -> tuple[Remark, ...]:
    return tuple(Remark(path, reason) for path, reason in pairs)
