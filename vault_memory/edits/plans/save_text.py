"""Plans the save of a whole note that a person edited as a text.

The text is written as it is where the note is still what the person opened. What others wrote
since is merged with it. Where both changed the same lines, nothing is written and the person decides.
"""

from collections.abc import Mapping
from dataclasses import replace

from vault_memory.edits.commands import EditCommand, SaveText
from vault_memory.edits.edit_errors import NoteExists, NoteGone, NotSavable, SaveConflict
from vault_memory.edits.edit_result import Edit
from vault_memory.edits.plans.plan import EditPlan
from vault_memory.markdown.document import parse
from vault_memory.markdown.merging import three_way
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.text_edits import why_not_editable
from vault_memory.rules.edits.unified_diff import unified

SAVE = "save"


def save_action(note: str, text: bytes, base: bytes) -> SaveText:
    """Returns the action that saves a text. Raises NotSavable."""
    for raw in (text, base):
        reason = why_not_editable(raw)
        if reason:
            raise NotSavable(note, reason)
    return SaveText(text.decode(), base.decode())


def plan_save(command: EditCommand, action: SaveText, before: bytes | None) -> EditPlan:
    """Returns the plan of a save. Raises SaveConflict, NoteExists, NoteGone."""
    text = action.text.encode()
    base = action.base.encode()
    # Fault: a note that was moved or deleted must not come back by a save.
    if before is None and base:
        raise NoteGone(command.note, yours=text, base=base)
    op = action.op or {"op": SAVE}
    if text == base:
        return EditPlan(before, before, (RecordedOp(op, "applied"),) if action.op else ())
    after = text
    if before not in (None, base, text):
        after = _merge(command, text, base, before)
    if after == before:
        return EditPlan(before, before, (RecordedOp(op, "noop_dup"),))
    return EditPlan(before, after, (_recorded(op, before or b"", after),))


def with_newer_text(edit: Edit, base: bytes, disk: bytes | None) -> Edit:
    """Returns the result of a save with the diff of what others wrote since its base.

    `disk` is the version that the save was merged with; None where it is not kept.
    """
    if not base or disk is None:
        return edit
    diff = unified(base, disk, edit.note)
    return replace(edit, from_disk=diff.decode("utf-8", "replace"))


def _merge(command: EditCommand, text: bytes, base: bytes, disk: bytes) -> bytes:
    """Returns the text with what others wrote since. Raises SaveConflict, NoteExists."""
    # Fault: without a base, a line that one side lacks could be new or deleted.
    if not base:
        raise NoteExists(command.note, on_disk=disk, yours=text, base=base)
    day = command.ts[:10]
    outcome = three_way.merge(base, text, disk, between_people=True, date=day)
    if outcome.result is not None and not outcome.conflicts:
        return outcome.result
    # The other way round, the person's line stays and the other one gets the mark.
    marked = three_way.merge(base, disk, text, between_people=True, date=day)
    raise SaveConflict(command.note, on_disk=disk, yours=text, base=base, merged=marked.result)


def _recorded(op: Mapping[str, object], before: bytes, after: bytes) -> RecordedOp:
    """Returns the op for the audit. It lists the new items, which are the person's from now on."""
    previous = {item.key for item in items_of(parse(before))}
    new = dict.fromkeys(item.key for item in items_of(parse(after)))
    wrote = [list(key) for key in new if key not in previous]
    return RecordedOp({**op, "wrote": wrote} if wrote else op, "applied")
