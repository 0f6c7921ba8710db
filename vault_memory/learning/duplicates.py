"""Keeps a cycle from writing what the notes of the scope already say."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from vault_memory.edits.commands import RecordDuplicates
from vault_memory.learning.known_items import is_replaceable, items_in, memory_notes
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.ops import Replace, as_json
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate, supports, turns_of
from vault_memory.rules.learning.duplicate_filter import (
    Cosines,
    DuplicateFilter,
    ExistingItem,
    NewLine,
    no_vectors,
)
from vault_memory.rules.learning.twins import Embed, VectorTwins, compared, may_have_twin

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
