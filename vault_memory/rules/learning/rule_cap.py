"""Caps the number of active rules in RULES.md; surplus rules move to the archive."""

from collections.abc import Sequence

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.context.rule_archive import is_archive
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove

MOST_ACTIVE = 20
"""Rules that hold at a time; beyond it, the oldest learned rules move to the archive"""


def active_rules(doc: SectionedDoc) -> list[NoteItem]:
    """Returns the rules that hold, in the order of the note. Nested items belong to their rule."""
    return [item for item in items_of(doc) if item.depth == 1 and not is_archive(item.heading)]


def surplus_rules(doc: SectionedDoc) -> list[NoteItem]:
    """Returns the rules that should move to the archive, the oldest first.

    Only rules with a date move, because a person wrote the others by hand. The newest rule always
    stays, with the others of its turn. So does a rule with nested items, because the archive keeps
    one line per rule.
    """
    active = active_rules(doc)
    dated = sorted((item for item in active if parse_item(item.text).date), key=_age)
    if not dated:
        return []
    # Fault: a rule would push out another one that was said in the same breath.
    newest = parse_item(dated[-1].text).ref
    movable = [
        item
        for item in dated[:-1]
        if item.own_end == item.end and not (newest and parse_item(item.text).ref == newest)
    ]
    return movable[: max(0, len(active) - MOST_ACTIVE)]


def _age(item: NoteItem) -> tuple[object, int, int]:
    return parse_item(item.text).date, item.section, item.start


def archived_line(ops: Sequence[Op | None]) -> str:
    """Returns the rule that two ops, in either order, move to the archive, or ``""``."""
    match ops:
        case (Remove() as removal, addition) | (addition, Remove() as removal):
            line = _archived_by(addition)
        case _:
            return ""
    if is_archive(removal.heading) or folded_line(removal.match) != folded_line(line):
        return ""
    return line


def _archived_by(op: Op | None) -> str:
    """Returns the only line that an op adds to the archive, or ``""``."""
    match op:
        case Append(heading, line) if is_archive(heading):
            return line
        case AddHeading(heading, (line,)) if is_archive(heading):
            return line
        case _:
            return ""
