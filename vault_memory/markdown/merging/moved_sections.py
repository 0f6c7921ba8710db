"""Finds where the contents of a section went when a side deleted its heading."""

from collections import Counter, defaultdict
from typing import NamedTuple

from vault_memory.markdown.merging.alignment import NONE
from vault_memory.markdown.merging.merge_state import MergeState
from vault_memory.markdown.merging.parsed_note import ParsedNote


class _Side(NamedTuple):
    """One version of the note, with its numbers of sections and units by thread."""

    note: ParsedNote
    sections: list[int]
    section_threads: list[int]
    units: list[int]


class Moves:
    """Where the contents of each deleted section went."""

    def __init__(self, state: MergeState) -> None:
        self._state = state
        self._unit_goals: dict[int, int] = {}
        self._section_goals: dict[int, int] = {}
        self._units: defaultdict[int, list[int]] = defaultdict(list)
        """The units of each section of the base"""
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        """The sections in each section of the base"""
        base = state.base
        for unit, home in enumerate(base.home):
            if base.units[unit].kind != "heading":
                self._units[home].append(unit)
        for section, heading in enumerate(base.sections):
            self._children[heading.parent].append(section)

    def units_went(self, section: int) -> int:
        """Return the section that now has at least half of its units; otherwise the section itself."""
        if section not in self._unit_goals:
            self._unit_goals[section] = self._goal_of_units(section)
        return self._unit_goals[section]

    def _goal_of_units(self, section: int) -> int:
        side = self._side_that_deleted(section)
        units = self._units.get(section, [])
        if not units or side.sections[section] != NONE:
            return section
        numbers = [side.units[unit] for unit in units]
        counts = Counter(
            side.section_threads[side.note.home[number]] for number in numbers if number != NONE
        )
        goal = _most_common(counts, section)
        is_majority = counts[goal] * 2 >= len(units)
        return goal if is_majority and goal in self._state.headings else section

    def sections_went(self, parent: int) -> int:
        """Return the section that now has most sections of `parent`; otherwise the parent itself."""
        if parent not in self._section_goals:
            self._section_goals[parent] = self._goal_of_sections(parent)
        return self._section_goals[parent]

    def _goal_of_sections(self, parent: int) -> int:
        side = self._side_that_deleted(parent)
        numbers = [side.sections[child] for child in self._children.get(parent, ())]
        counts = Counter(
            side.section_threads[side.note.sections[number].parent]
            for number in numbers
            if number != NONE
        )
        goal = _most_common(counts, parent)
        return goal if goal in self._state.headings else parent

    def _side_that_deleted(self, section: int) -> _Side:
        state = self._state
        sections, units = state.sections, state.units
        if sections.theirs[section] == NONE:
            return _Side(state.theirs, sections.theirs, sections.of_theirs, units.theirs)
        return _Side(state.ours, sections.ours, sections.of_ours, units.ours)


def _most_common(counts: Counter[int], default: int) -> int:
    """Return the most frequent section; of equally frequent ones the first."""
    return max(counts, key=lambda section: (counts[section], -section), default=default)
