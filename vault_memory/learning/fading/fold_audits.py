"""The step of the night that folds old audit records, after `[retention] audit_days`."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from vault_memory.edits.audit.audit_folding import fold_audit
from vault_memory.edits.edit_errors import NotCurated

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

logger = logging.getLogger(__name__)


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
