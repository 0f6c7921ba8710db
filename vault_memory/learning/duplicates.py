"""Keeps a cycle from writing what the notes of the scope already say."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.edits.commands import RecordDuplicates
from vault_memory.learning.known_items import is_replaceable, items_in, memory_notes
from vault_memory.learning.outcomes import EditCause
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.ops import Remove, Replace, as_json
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.edits.policy import most_removable
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate, supports, turns_of
from vault_memory.rules.learning.duplicate_filter import (
    Cosines,
    DuplicateFilter,
    ExistingItem,
    NewLine,
    no_vectors,
)
from vault_memory.rules.learning.twins import (
    Compared,
    Embed,
    VectorTwins,
    compared,
    may_have_twin,
    relation_of,
)

if TYPE_CHECKING:
    from vault_memory.contract.answers import DroppedJson
    from vault_memory.learning.cycle import LearningCycle


FEW_LINES = 20
"""For so few lines it is cheaper to look which notes have their words, than to read all items"""
REPLACE = "replace "
SAID_BEFORE = "said_before"
"""The reason of a request that an item says already"""
SKIP = "skip "
"""Beginnings of the names of steps, each followed by a note"""


def without_duplicates(
    cycle: "LearningCycle",
    lines_by_day: Mapping[date, Iterable[str]],
    heading: str,
    others: Collection[NewLine] = (),
) -> dict[str, list[str]]:
    """Returns the lines to append, by note. `others` are lines for other notes.

    Records the texts that an item says already, and replaces the bot's items that say less.
    """
    lines = [
        NewLine(cycle.places.note_of(day), heading, text, parse_item(text).ref)
        for day, texts in lines_by_day.items()
        for text in texts
    ]
    lines += others
    if not lines:
        return {}
    is_night = not (cycle.checkpoint.session or cycle.request.at_once)
    embed = cycle.deps.embedder() if is_night else None
    items = list(existing_items(cycle, lines, all_notes=embed is not None))
    sorter = DuplicateFilter(
        items,
        is_replaceable=lambda item: _is_replaceable(cycle, item),
        cosines=_cosines(items, embed),
        # Fault: the night was killed after it had written some lines. They must not count as
        # duplicates of themselves.
        written_before=_notes_written_before(cycle),
    )
    for line in lines:
        sorter.take(line)
    # A skip names its twin by the text that it will have, so it can be recorded first.
    for note, skips in sorter.skipped(lambda path: _scope_of(cycle, path)).items():
        cycle.outcome.duplicates += len(skips)
        # Fault: beside a note that does not exist yet, nothing can be recorded.
        if cycle.text(note):
            record_skips(cycle, note, skips)
        else:
            cycle.late_skips[note] = skips
    # Fault: a person who asks for something again would read that nothing waits.
    cycle.outcome.dropped += _said_before(sorter.repeated(others))
    for note, pairs in sorter.replaced.items():
        _replace(cycle, note, pairs)
    return sorter.written


def _said_before(turns: Iterable[str]) -> "list[DroppedJson]":
    return [{"ref": turn, "reason": SAID_BEFORE} for turn in turns]


def _cosines(items: Sequence[ExistingItem], embed: Embed | None) -> Cosines:
    """Returns how lines are compared by vectors; without an embedder they are not."""
    if embed is None:
        return no_vectors
    return VectorTwins([item.text for item in items], embed).cosines


def existing_items(
    cycle: "LearningCycle", lines: Sequence[NewLine] = (), *, all_notes: bool = True
) -> Iterator[ExistingItem]:
    """Yields the items of the notes of the scope.

    Without `all_notes` those of notes that may say what one of a few lines says are enough.
    """
    new = [compared(line.text) for line in lines]
    for note in memory_notes(cycle.places):
        text = "" if all_notes or len(new) > FEW_LINES else cycle.text(note)
        if not text or any(may_have_twin(line, text) for line in new):
            yield from items_in(note, cycle.compared_doc(note))


def _notes_written_before(cycle: "LearningCycle") -> frozenset[str]:
    """Returns the notes to which the cycle added memories before it was killed."""
    places = cycle.places
    notes: set[str] = set()
    for step in cycle.checkpoint.runs:
        kind, _, name = step.partition(" ")
        if kind == "replace":
            notes.add(name)
        elif kind == "note":
            notes.add(places.note_of(date.fromisoformat(name)))
        elif kind == "requests":
            notes.add(places.profile)
    return frozenset(notes)


def record_late_skips(cycle: "LearningCycle") -> None:
    """Records the texts that items of new notes say, after the notes were written."""
    for note in [note for note in cycle.late_skips if cycle.text(note)]:
        record_skips(cycle, note, cycle.late_skips.pop(note))


def record_skips(
    cycle: "LearningCycle", note: str, skips: Iterable[SkippedDuplicate], *, step: str = ""
) -> None:
    """Records texts that were not written in the audit of a note, each turn of an item once.

    `step` is the name for a second record on the same note.
    """
    skips = list(skips)
    if not skips:
        return
    # Fault: a night that runs again would count the same support twice.
    supported = supports(cycle.deps.editor.trail.of(note))
    cited = _turns_cited_in(cycle, note)
    new_skips: dict[tuple[str, str], SkippedDuplicate] = {}
    for skip in skips:
        turns = supported.get(skip.twin, frozenset()) | cited.get(skip.twin, frozenset())
        if skip.turn not in turns:
            new_skips[skip.twin, skip.turn] = skip
    ops = tuple(skip.as_op() for skip in new_skips.values())
    cycle.edit(step or SKIP + note, note, action=RecordDuplicates(ops))


def _turns_cited_in(cycle: "LearningCycle", note: str) -> dict[str, frozenset[str]]:
    """Returns the turns that items of a note cite, by the items' keys."""
    scope = _scope_of(cycle, note)
    keys = {item.text: content_key(scope, item.text) for item in items_of(cycle.doc(note))}
    return {key: turns_of(text, key, {}) for text, key in keys.items()}


def _replace(cycle: "LearningCycle", note: str, pairs: Iterable[tuple[ExistingItem, str]]) -> None:
    ops = [
        as_json(Replace(item.heading, item.text, line, exact=True))
        # Fault: a line of nearly the same text must not be replaced.
        for item, line in pairs
    ]
    result = cycle.edit(REPLACE + note, note, ops)
    cycle.outcome.memories += len(result.applied)
    cycle.outcome.learned += [str(op.get("line", "")) for op in result.applied]


def _is_replaceable(cycle: "LearningCycle", item: ExistingItem) -> bool:
    records = cycle.deps.editor.trail.of(item.note)
    return is_replaceable(item, cycle.doc(item.note), records)


def _scope_of(cycle: "LearningCycle", note: str) -> str:
    """Returns the scope of a note; the notes of a workspace belong to its main group."""
    return cycle.deps.editor.place(note).scope


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
