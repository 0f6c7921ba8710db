"""Plans the repair after a stale save: lines of the bot that the user's editor had never loaded come back.

The plan merges the save with the version that it overwrote, as if its author had seen both. Lines that are missing
from the result are proposed.
"""

from collections import Counter
from collections.abc import Sequence

from vault_memory.edits.commands import EditCommand, RestoreLines
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.markdown.document import parse
from vault_memory.markdown.merging.three_way import merge
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.ownership import Ownership, replay
from vault_memory.rules.edits.stale_save import propose_missing


def plan_lost_lines(
    command: EditCommand, action: RestoreLines, before: bytes | None, inputs: PlanInputs
) -> EditPlan:
    """Returns the plan; it changes nothing when one of the versions is not stored any more."""
    loaded = inputs.bytes_of(action.loaded)
    overwritten = inputs.bytes_of(action.overwritten)
    saved = inputs.bytes_of(action.saved)
    # Fault (B45): a damaged journal may have lost one of the versions. A merge without
    # it would be a guess.
    if before is None or overwritten is None or saved is None:
        return EditPlan(before, before)
    owners = replay(inputs.records(command.note))
    after = _merge_save(loaded, overwritten, saved, before, owners)
    bot_items = owners.bots_among(items_of(parse(overwritten)))
    op: dict[str, object] = {"op": "merge", "loaded": action.loaded, "saved": action.saved}
    renamed = _renamed_sections(bot_items, items_of(parse(after)))
    if renamed:
        op["renamed"] = renamed
    outcome = "noop_dup" if after == before else "applied"
    records = inputs.records(command.note)
    proposed = propose_missing(command.note, bot_items, after, records)
    return EditPlan(before, after, (RecordedOp(op, outcome),), proposed=proposed)


def _merge_save(
    loaded: bytes | None, overwritten: bytes, saved: bytes, before: bytes, owners: Ownership
) -> bytes:
    """Returns the save with the lost lines, or `before` where every merge would take a line of a person away."""
    bases = (loaded, _common_lines(loaded or b"", overwritten))
    for base in bases:
        after = merge(base, overwritten, saved).result
        # Fault (A8): the user may have saved again since the save that is repaired.
        if after is not None and before != saved:
            after = merge(saved, after, before).result
        # Fault (A10): a merge on a wrong base can drop a person's line. Then the lost
        # lines of the bot are only proposed.
        if after is not None and not _removes_items_of_people(before, after, owners):
            return after
    return before


def _renamed_sections(bot_items: Sequence[NoteItem], items: Sequence[NoteItem]) -> dict[str, str]:
    """Maps old to new names of sections in which items of the bot are now."""
    keys = {item.key for item in items}
    section_of_text = {item.key[1]: item.heading for item in items}
    return {
        item.heading: section_of_text[item.key[1]]
        for item in bot_items
        if item.key not in keys and item.key[1] in section_of_text
    }


def _common_lines(text: bytes, other_text: bytes) -> bytes:
    """Returns the lines of `text` that the other has too, so that a missing line does not count as deleted."""
    other_lines = {line.rstrip() for line in other_text.splitlines()}
    return b"".join(line for line in text.splitlines(keepends=True) if line.rstrip() in other_lines)


def _removes_items_of_people(before: bytes, after: bytes, owners: Ownership) -> bool:
    # Fault (A3): `before` may be a half-finished save. An item that is missing there
    # was not deleted.
    items = items_of(parse(before))
    bot_items = set(owners.bots_among(items))
    remaining = Counter(item.key[1] for item in items_of(parse(after)))
    of_people = Counter(item.key[1] for item in items if item not in bot_items)
    return bool(of_people - remaining)
