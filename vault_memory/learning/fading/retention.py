"""The steps that end what is too old: dated notes and transcripts, and old audit records."""

import logging
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING

from vault_memory.edits.audit.audit_folding import fold_audit
from vault_memory.edits.commands import RETENTION, RetireNote
from vault_memory.edits.edit_errors import NotCurated
from vault_memory.learning.policy.edit_cause import EditCause

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

logger = logging.getLogger(__name__)


def prune(cycle: "LearningCycle") -> None:
    """Moves dated notes, episodes and transcripts to the trash that are older than the retention.

    The date in the name decides. The log of removals is written first.
    """
    if cycle.request.retention_days:
        _prune_notes(cycle, cycle.night - timedelta(days=cycle.request.retention_days))
    if cycle.request.transcript_days:
        days = timedelta(days=cycle.request.transcript_days)
        _prune_transcripts(cycle, cycle.night - days)


def _prune_notes(cycle: "LearningCycle", cutoff: date) -> None:
    why = f"older than {cutoff}"
    places = cycle.places
    for note in _before(cutoff, (*places.dated, *places.episodes)):
        _log_removal(cycle, note)
        result = cycle.edit(
            f"age {note}", note, action=RetireNote(), cause=EditCause(RETENTION, why)
        )
        cycle.outcome.pruned += bool(result.applied)


def _prune_transcripts(cycle: "LearningCycle", cutoff: date) -> None:
    files = cycle.last.files
    paths = _before(cutoff, cycle.places.transcripts)
    old = [path for path in paths if path in files]
    if not old:
        return
    # Fault: the transcript changed since it was read. Its new signature shows that.
    logs = cycle.deps.logs(cycle.scope, files)
    for path in old:
        log = logs.get(path)
        # A turn that came late from another device must be learned from before it goes.
        is_read = log is not None and log.turns is None
        if is_read:
            _log_removal(cycle, path)
            # Fault: a dry run must not remove a file.
            is_gone = cycle.request.dry_run or cycle.deps.discard(path, cycle.now)
            cycle.outcome.pruned += is_gone


def _before(cutoff: date, files: Iterable[tuple[date, str]]) -> list[str]:
    return [path for day, path in files if day < cutoff]


def _log_removal(cycle: "LearningCycle", path: str) -> None:
    # Fault: a dry run must not leave a trace.
    if cycle.request.dry_run:
        return
    logger.info("%s is older than the retention; it goes to the trash", path)
    record = {"ts": cycle.now.isoformat(), "scope": cycle.scope, "path": path}
    cycle.deps.store.log_removal(record)


def fold_audits(cycle: "LearningCycle") -> None:
    """Folds the audit records of the scope that are too old, and of groups, which have no nights."""
    days = cycle.request.audit_days
    if not days or cycle.request.dry_run:
        return
    editor = cycle.deps.editor
    until = cycle.now - timedelta(days=days)
    for note in _notes_of(cycle):
        for path in fold_audit(editor, note, until, cycle.now):
            logger.info("%s: records older than %d days are folded", path, days)
            cycle.deps.changed(path)


def _notes_of(cycle: "LearningCycle") -> Iterator[str]:
    """Yields the notes of the scope that have an audit, and those of groups."""
    editor = cycle.deps.editor
    for note in editor.trail.notes():
        try:
            scope = editor.place(note).scope
        except NotCurated:
            # A person moved the file to where no memory is.
            continue
        if scope == cycle.scope or scope.startswith("group:"):
            yield note
