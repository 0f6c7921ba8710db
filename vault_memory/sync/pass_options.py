"""What a caller asks of one pass of sync."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from vault_memory.sync.apply.executor import Progress, no_progress


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
