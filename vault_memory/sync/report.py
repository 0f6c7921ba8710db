"""What a sync did on both sides, and what is left, as it is told."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.sync import connection
    from vault_memory.sync.pass_report import PassReport
else:
    connection = lazy_module("vault_memory.sync.connection")

COUNTS = (
    "uploaded",
    "downloaded",
    "merged",
    "deleted_local",
    "deleted_remote",
    "requests",
)


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about one path; the path is empty when it is about all of them."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did on both sides, and what is left."""

    uploaded: int = 0
    downloaded: int = 0
    merged: int = 0
    deleted_local: int = 0
    deleted_remote: int = 0
    conflicts: int = 0
    copies: tuple[str, ...] = ()
    """the conflict copies that were made, because two texts could not become one"""
    requests: int = 0
    skipped: tuple[Remark, ...] = ()
    """what is not synced at all"""
    held: tuple[Remark, ...] = ()
    """what a brake stopped, until a person approves"""
    waiting: tuple[Remark, ...] = ()
    """what a later sync decides about"""
    failed: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()
    """for a person to look at"""
    open_conflicts: tuple[str, ...] = ()
    """the conflict copies that lie in the vault now, from this sync, earlier ones and other programs"""
    planned: tuple[Remark, ...] = ()
    """what a dry run would do"""


def together(whole: SyncReport, report: "PassReport") -> SyncReport:
    """What several passes did; of what is left, what the last one left."""
    copies = tuple(dict.fromkeys((*whole.copies, *report.conflicts)))
    counts = {name: getattr(whole, name) + getattr(report, name) for name in COUNTS}
    return SyncReport(
        **counts,
        conflicts=len(copies),
        copies=copies,
        skipped=(*_remarks(report.skipped), *connection.kept_back(report)),
        held=connection.held_of(report),
        waiting=_remarks(report.waiting),
        failed=_remarks(report.failed),
        notes=tuple(dict.fromkeys((*whole.notes, *_remarks(report.notes)))),
        planned=_remarks(report.planned),
    )


def _remarks(pairs: tuple[tuple[str, str], ...]) -> tuple[Remark, ...]:
    return tuple(Remark(path, reason) for path, reason in pairs)
