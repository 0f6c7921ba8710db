"""The cap of RULES.md: which rules hold, which of them are to go to the archive, and which ops move one there."""

from collections.abc import Sequence

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import NoteItem, folded, items_of
from vault_memory.rules.context.rule_archive import is_archive
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove

MOST_ACTIVE = 20
"""Rules that hold at a time; of more, the oldest ones that were learned go to the archive"""


def active_rules(doc: SectionedDoc) -> list[NoteItem]:
    """The rules that hold, in the order of the note. What is nested in a rule belongs to it."""
    return [
        item
        for item in items_of(doc)
        if item.depth == 1 and not is_archive(item.heading)
    ]


def surplus_rules(doc: SectionedDoc) -> list[NoteItem]:
    """The rules that are to go to the archive, the oldest first.

    Only rules with a day go, since a person wrote the others by hand. The newest one always stays: it was asked for
    just now, however many rules there are by hand. So does a rule with items nested in it: the archive keeps one line.
    """
    active = active_rules(doc)
    dated = sorted((item for item in active if parse_item(item.text).date), key=_age)
    movable = [item for item in dated[:-1] if item.own_end == item.end]
    return movable[: max(0, len(active) - MOST_ACTIVE)]


def _age(item: NoteItem) -> tuple[object, int, int]:
    return parse_item(item.text).date, item.section, item.start


def archived_line(ops: Sequence[Op | None]) -> str:
    """The rule that two ops together move to the archive, in either order; empty when they do something else."""
    removal = next(
        (op for op in ops if isinstance(op, Remove) and not is_archive(op.heading)),
        None,
    )
    line = next((line for op in ops for line in _into_archive(op)), "")
    moves = removal is not None and folded(removal.match) == folded(line)
    return line if len(ops) == 2 and moves else ""


def _into_archive(op: Op | None) -> tuple[str, ...]:
    """The one line that an op adds to the archive."""
    match op:
        case Append(heading, line) if is_archive(heading):
            return (line,)
        case AddHeading(heading, (line,)) if is_archive(heading):
            return (line,)
    return ()
