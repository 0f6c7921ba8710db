"""What is asked of one pass of sync, what it has done so far, and its report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vault_memory.sync.actions import Action
from vault_memory.sync.observe.local_scan import LocalScan
from vault_memory.sync.plan.planner import SyncPlan

COMPARED_AGAIN = "the next pass compares it again"
Progress = Callable[[int, int], None]
"""Called with the number of completed actions, and the number of all"""
PathReason = tuple[str, str]
"""A path, and what is reported about it"""


def no_progress(completed: int, total: int) -> None:
    """Ignores the progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOptions:
    """Options of one pass: a person's approvals, and what the daemon knows about the paths."""

    dry_run: bool = False
    """only report what the pass would do"""
    approve_deletes: bool = False
    """a person approved the deletions that a safety limit stopped"""
    approve_restore: bool = False
    """a person accepts the earlier texts of one side (B9)"""
    refuse_restore: bool = False
    """a person rejects the earlier texts of one side: it gets the newer ones again (B9)"""
    ask: bool = True
    """False: plan against the last listing of the server, so that one edit is uploaded at once"""
    resting: Mapping[str, str] = field(default_factory=dict)
    """paths that are left alone in this pass, and why"""
    progress: Progress = no_progress
    """is called with the number of finished and of all actions; may raise, to end the pass early"""


@dataclass(slots=True)
class PassResult:
    """What was done in a pass."""

    uploaded: list[str] = field(default_factory=list)
    downloaded: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    deleted_local: list[str] = field(default_factory=list)
    deleted_remote: list[str] = field(default_factory=list)
    renamed_local: list[str] = field(default_factory=list)
    """files by their old paths, also those in a renamed folder"""
    renamed_remote: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    """copies of texts that could not be merged"""
    failed: dict[str, str] = field(default_factory=dict)
    """paths with a failed action, and why"""
    refused: dict[str, str] = field(default_factory=dict)
    """new paths that the server will never accept as they are, and why"""
    outdated: set[str] = field(default_factory=set)
    """paths that the next pass compares again"""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """for a person to review: path and text"""
    acted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    """What a pass did, and what is still open."""

    uploaded: int = 0
    downloaded: int = 0
    merged: int = 0
    deleted_local: int = 0
    deleted_remote: int = 0
    renamed_local: int = 0
    renamed_remote: int = 0
    recorded: int = 0
    """other actions: directories and records"""
    conflicts: tuple[str, ...] = ()
    """new conflict copies, since two texts could not be merged"""
    requests: int = 0
    skipped: tuple[PathReason, ...] = ()
    """paths that are not synced, and why"""
    held: tuple[PathReason, ...] = ()
    """actions that are not done, and why"""
    waiting: tuple[PathReason, ...] = ()
    """paths that a later pass decides about, and why"""
    failed: tuple[PathReason, ...] = ()
    notes: tuple[PathReason, ...] = ()
    """for a person to review"""
    halted: str = ""
    """why nothing was done at all"""
    planned: tuple[PathReason, ...] = ()
    """what a dry run would do: path and action"""
    server_changed: bool = False
    """whether another device changed the server since the last listing"""
    settled: bool = False
    """whether all planned actions are done, and none of them needs another pass"""

    @property
    def quiet(self) -> bool:
        """Whether nothing was done, and nothing is left to do soon."""
        return not (self.acted or self.waiting or self.failed)

    @property
    def acted(self) -> int:
        """How many actions were done."""
        return (
            self.uploaded
            + self.downloaded
            + self.merged
            + self.deleted_local
            + self.deleted_remote
            + self.renamed_local
            + self.renamed_remote
            + self.recorded
        )


def report_of(plan: SyncPlan, result: PassResult, local_scan: LocalScan) -> PassReport:
    """Report what a pass did with its plan. The caller adds the number of requests."""
    waiting = {
        **plan.waiting,
        **local_scan.being_saved,
        **dict.fromkeys(result.outdated, COMPARED_AGAIN),
    }
    unknown = {path: reason for path, reason in plan.unknown.items() if path not in waiting}
    skipped = {**result.refused, **plan.skipped, **unknown}
    files = (
        result.uploaded,
        result.downloaded,
        result.merged,
        result.deleted_local,
        result.deleted_remote,
        result.renamed_local,
        result.renamed_remote,
    )
    return PassReport(
        uploaded=len(result.uploaded),
        downloaded=len(result.downloaded),
        merged=len(result.merged),
        deleted_local=len(result.deleted_local),
        deleted_remote=len(result.deleted_remote),
        renamed_local=len(result.renamed_local),
        renamed_remote=len(result.renamed_remote),
        recorded=result.acted - sum(map(len, files)),
        conflicts=tuple(result.conflicts),
        skipped=tuple(sorted(skipped.items())),
        held=tuple(
            (entry.action.path, f"{verb_of(entry.action)}: {entry.reason}") for entry in plan.held
        ),
        waiting=tuple(sorted(waiting.items())),
        failed=tuple(sorted(result.failed.items())),
        notes=(*result.notes, *((note.path, note.text) for note in plan.notes)),
        halted=plan.halted,
    )


def verb_of(action: Action) -> str:
    """The name of an action in words, e.g. `delete remote`."""
    words = "".join(
        f" {letter.lower()}" if letter.isupper() else letter for letter in type(action).__name__
    )
    return words.strip()
