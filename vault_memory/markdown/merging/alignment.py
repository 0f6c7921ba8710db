"""Follows sections and units through three versions of a note, each under one number, a thread.

A structural merge decides step by step; its order and its text are made from what is decided.
"""

from collections import defaultdict, deque
from collections.abc import Hashable
from typing import NamedTuple

from vault_memory.markdown.merging.block_merge import FieldConflict, Kind
from vault_memory.markdown.merging.matching import Matched, all_normal, normal
from vault_memory.markdown.merging.parsed_note import ParsedNote

NONE = -9
"""The number where a version does not have it"""

Queues = defaultdict[Hashable, deque[int]]


class Alignment:
    """The numbers of each thread in the base, in ours and in theirs.

    The threads of the base have the numbers of the base.
    """

    def __init__(self, base_count: int) -> None:
        self.base = list(range(base_count))
        self.ours = [NONE] * base_count
        self.theirs = [NONE] * base_count
        self.of_ours: list[int] = []
        """The thread of each number of ours"""
        self.of_theirs: list[int] = []
        """The thread of each number of theirs"""

    def add_thread(self) -> int:
        """Add a thread that the base does not have, and return its number."""
        self.base.append(NONE)
        self.ours.append(NONE)
        self.theirs.append(NONE)
        return len(self.base) - 1

    def add_theirs(self, base: int) -> int:
        """Add the next number of theirs, which is `base` of the base or new; return its thread."""
        thread = base if base >= 0 else self.add_thread()
        self.theirs[thread] = len(self.of_theirs)
        self.of_theirs.append(thread)
        return thread

    def __len__(self) -> int:
        return len(self.base)


def section_threads(
    ours: ParsedNote, theirs: ParsedNote, base_count: int, our_match: Matched, their_match: Matched
) -> Alignment:
    """Align sections. Sections that both added are one if name, level and parent are equal.

    The same holds for a section that one side added and the other renamed to that name.
    """
    threads = Alignment(base_count)
    by_name: Queues = defaultdict(deque)
    for number, base in enumerate(their_match.sections):
        thread = threads.add_theirs(base)
        if number:
            heading = theirs.sections[number]
            parent = threads.of_theirs[heading.parent]
            by_name[parent, heading.level, heading.name.lower()].append(thread)
    for number, base in enumerate(our_match.sections):
        thread = base
        if base < 0:
            heading = ours.sections[number]
            parent = threads.of_ours[heading.parent]
            queue = by_name[parent, heading.level, heading.name.lower()]
            thread = queue.popleft() if queue else threads.add_thread()
        if threads.ours[thread] == NONE:
            threads.ours[thread] = number
        threads.of_ours.append(thread)
    return threads


def unit_threads(
    base: ParsedNote,
    ours: ParsedNote,
    theirs: ParsedNote,
    our_match: Matched,
    their_match: Matched,
    sections: Alignment,
) -> Alignment:
    """Align units. Units that both added to one section are one if their normalised text is equal."""
    threads = Alignment(len(base.units))
    for base_unit in their_match.units:
        threads.add_theirs(base_unit)
    shared = _added_by_both(ours, theirs, our_match, their_match, sections)
    for number, base_unit in enumerate(our_match.units):
        if base_unit >= 0:
            thread = base_unit
        elif number in shared:
            thread = threads.of_theirs[shared[number]]
        else:
            thread = threads.add_thread()
        threads.ours[thread] = number
        threads.of_ours.append(thread)
    return threads


def _added_by_both(
    ours: ParsedNote,
    theirs: ParsedNote,
    our_match: Matched,
    their_match: Matched,
    sections: Alignment,
) -> dict[int, int]:
    """Return units of ours with the equal unit of theirs; each unit at most once."""
    our_units = _added(ours, our_match)
    if not our_units:
        return {}
    queues: Queues = defaultdict(deque)
    for number in _added(theirs, their_match):
        section = sections.of_theirs[theirs.home[number]]
        queues[section, _own_key(theirs, number)].append(number)
    shared: dict[int, int] = {}
    for number in our_units:
        section = sections.of_ours[ours.home[number]]
        queue = queues[section, _own_key(ours, number)]
        if queue:
            shared[number] = queue.popleft()
    return shared


def _added(side: ParsedNote, match: Matched) -> list[int]:
    """Return the units of a side that the base does not have, without headings."""
    return [
        number
        for number, base in enumerate(match.units)
        if base < 0 and side.units[number].kind != "heading"
    ]


def _own_key(note: ParsedNote, unit: int) -> Hashable:
    """Return a key that is equal for two versions of one unit: of an item its own words."""
    kind, _, _, text = note.units[unit]
    if kind == "item":
        return normal(text) or text
    return fold_key(note, unit)


def fold_key(note: ParsedNote, unit: int) -> Hashable:
    """Return a key that is equal for two units with the same content.

    With lines below it, an item contains more than its own words.
    """
    kind, _, _, text = note.units[unit]
    if kind == "paragraph" or (kind == "item" and b"\n" not in text):
        return all_normal(text) or text
    return kind, text


class MergeState:
    """Three versions of a note with their threads, and the decisions about these.

    A thread is one section or one unit, followed through the base and both sides under one number.
    """

    def __init__(self, base: ParsedNote, ours: ParsedNote, theirs: ParsedNote) -> None:
        self.base = base
        self.ours = ours
        self.theirs = theirs
        our_match = Matched(base, ours)
        their_match = Matched(base, theirs)
        self.sections = section_threads(ours, theirs, len(base.sections), our_match, their_match)
        self.units = unit_threads(base, ours, theirs, our_match, their_match, self.sections)
        self.homes: dict[int, int] = {}
        """The section of each unit that stays"""
        self.merged: dict[int, MergedUnit] = {}
        """The result of each unit that stays"""
        self.beside: dict[int, list[MergedUnit]] = {}
        """Marked copies of our text, which follow their unit"""
        self.headings: dict[int, MergedUnit | None] = {}
        """The heading of each section that stays; None above the first heading"""
        self.parents: dict[int, int] = {}
        """The parent of each section that stays"""


# --- Merged unit ---

# The values that a structural merge produces: units of the result, and conflicts.


class MergedUnit(NamedTuple):
    """A unit of the result."""

    kind: str
    text: bytes
    source: ParsedNote | None
    """The version whose bytes it has, None for new text"""
    unit: int
    """Its number in the source"""
    thread: int
    """-1 for a marked copy that follows another unit"""


class SectionConflict(NamedTuple):
    """A conflict, and the name of the section that it is in."""

    kind: Kind
    section: bytes
    conflict: FieldConflict
