"""Removes items of the bot that the notes of a scope have twice, as two devices' nights leave them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.learning.duplicates import record_skips
from vault_memory.learning.known_items import memory_notes
from vault_memory.learning.policy.edit_cause import EditCause
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.ops import Remove, as_json
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.edits.policy import most_removable
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate, supports, turns_of
from vault_memory.rules.learning.twins import Compared, compared, relation_of

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

MOST_REMOVED = 200
"""In one night; the next night goes on"""


class _Copy(NamedTuple):
    """An item of a note, with the form in which it is compared."""

    note: str
    item: NoteItem
    content: Compared

    @property
    def age(self) -> tuple[date, str, int, int]:
        """Sorts the oldest first, on each device alike; an item without a day is the oldest."""
        day = self.content.day or date.min
        return day, self.note, self.item.section, self.item.start


def duplicates(cycle: "LearningCycle") -> None:
    """Removes equal items of the bot except the oldest, whose turns the others support."""
    if cycle.outcome.state == "failed" or not cycle.has_new_notes:
        return
    removals: dict[str, list[tuple[_Copy, _Copy]]] = defaultdict(list)
    for oldest, copy in _pairs(cycle):
        removals[copy.note].append((oldest, copy))
    left = MOST_REMOVED
    for note, pairs in sorted(removals.items()):
        # More removals than policy allows in a run would all become proposals.
        most = most_removable(len(items_of(cycle.doc(note))))
        pairs = pairs[: min(most, left)]
        left -= len(pairs)
        _remove(cycle, note, pairs)


def _pairs(cycle: "LearningCycle") -> Iterator[tuple[_Copy, _Copy]]:
    """Yields copies to remove, each after the oldest item that says the same."""
    groups: dict[str, list[_Copy]] = defaultdict(list)
    for note in memory_notes(cycle.places):
        for item in items_of(cycle.compared_doc(note)):
            if item.depth == 1:
                content = compared(item.text)
                groups[content.bare].append(_Copy(note, item, content))
    for copies in groups.values():
        if len(copies) > 1:
            yield from _copies_of_oldest(sorted(_of_bot(cycle, copies), key=_age))


def _age(copy: _Copy) -> tuple[date, str, int, int]:
    return copy.age


def _copies_of_oldest(copies: list[_Copy]) -> Iterator[tuple[_Copy, _Copy]]:
    if not copies:
        return
    oldest, *others = copies
    for copy in others:
        is_same = relation_of(copy.content, oldest.content) == "same"
        has_nested_items = copy.item.own_end != copy.item.end
        if is_same and not copy.content.confirmed and not has_nested_items:
            yield oldest, copy


def _of_bot(cycle: "LearningCycle", copies: Iterable[_Copy]) -> Iterator[_Copy]:
    """Yields the items that the bot wrote."""
    by_note: dict[str, list[_Copy]] = defaultdict(list)
    for copy in copies:
        by_note[copy.note].append(copy)
    for note, copies_of_note in by_note.items():
        # Fault: a note of thousands of equal lines was read once for each of them.
        owners = replay(cycle.deps.editor.trail.of(note))
        items = set(owners.bots_items(cycle.doc(note)))
        yield from (copy for copy in copies_of_note if copy.item in items)


def _remove(cycle: "LearningCycle", note: str, pairs: Iterable[tuple[_Copy, _Copy]]) -> None:
    pairs = list(pairs)
    skips: dict[str, list[SkippedDuplicate]] = defaultdict(list)
    for oldest, copy in pairs:
        skips[oldest.note] += _support(cycle, oldest, copy)
    # The oldest item has the support of its copies before they are gone.
    for kept_note, kept_skips in skips.items():
        step = f"support {kept_note} from {note}"
        record_skips(cycle, kept_note, kept_skips, step=step)
    ops = [as_json(Remove(copy.item.heading, copy.item.text, exact=True)) for _, copy in pairs]
    cause = EditCause(why="the notes say it twice")
    cycle.edit(f"duplicates {note}", note, ops, cause=cause)


def _support(cycle: "LearningCycle", oldest: _Copy, copy: _Copy) -> list[SkippedDuplicate]:
    """Returns the records by which the turns of a copy support the oldest item."""
    editor = cycle.deps.editor
    key = content_key(editor.place(copy.note).scope, copy.item.text)
    turns = turns_of(copy.item.text, key, supports(editor.trail.of(copy.note)))
    twin = content_key(editor.place(oldest.note).scope, oldest.item.text)
    return [
        SkippedDuplicate(oldest.item.heading, copy.item.text, twin, turn) for turn in sorted(turns)
    ]
