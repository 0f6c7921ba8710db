"""Folds the old records of this device in the audit files of a note.

A file is replaced by the same protocol as a note. So a crash leaves the old file or the new one.
"""

import secrets
from datetime import datetime
from typing import TYPE_CHECKING

from vault_memory.errors import NoteNotFound
from vault_memory.rules.edits.folding import fold_lines, plan_fold
from vault_memory.vault.write.replacement import Replacement

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.rules.edits.folding import FoldPlan

LARGEST = 256 << 20
"""Bytes of the largest audit file that is folded"""


def fold_audit(editor: "NoteEditor", note: str, until: datetime, now: datetime) -> list[str]:
    """Folds the records of a note up to a moment. Returns the files that changed.

    Raises NoteUnreadable, JournalUnavailable.
    """
    with editor.turn(now):
        records = editor.trail.load(note)
        try:
            raw = editor.folder.read(note).raw
        except NoteNotFound:
            # A note that was deleted has an audit still: its tombstones count when the
            # note returns.
            raw = b""
        plan = plan_fold(records, editor.trail.device, until, raw)
        if not plan.has_new:
            return []
        paths = editor.trail.files(note)
        return [path for path in paths if _fold_file(editor, path, plan, now)]


def _fold_file(editor: "NoteEditor", path: str, plan: "FoldPlan", now: datetime) -> bool:
    """Folds one audit file. Returns whether it changed."""
    file = editor.folder.read(path, max_bytes=LARGEST)
    folded = fold_lines(file.raw, plan)
    if folded == file.raw:
        return False
    new = Replacement(
        path, folded, expected=file.revision, op_id=f"fold-{secrets.token_hex(8)}", quiet=0.0
    )
    writer = editor.writer
    result = writer.write(
        new,
        now=now,
        # Fault: a sync program brought records meanwhile. They must stay.
        merge=lambda base, ours, theirs: fold_lines(theirs, plan),
    )
    if result.outcome == "pending":
        # Written later, it would lack the records of the time between. The next night
        # folds the file.
        writer.discard(new.op_id)
        return False
    return True
