"""Where the contents of a section went when a side took its heading away."""

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from vault_memory.markdown.merging.alignment import NONE
from vault_memory.markdown.merging.parsed_note import Page

if TYPE_CHECKING:
    from vault_memory.markdown.merging.structural import StructuralMerge


class Moves:
    """Where the contents of a section went whose heading a side took away."""

    def __init__(self, structure: "StructuralMerge") -> None:
        self._structure = structure
        self._went: dict[int, int] = {}
        self._led: dict[int, int] = {}
        self._units: defaultdict[int, list[int]] = defaultdict(list)
        """of each section of the base its units"""
        self._sections: defaultdict[int, list[int]] = defaultdict(list)
        """of each section of the base those in it"""
        base = structure.base
        for unit, home in enumerate(base.home):
            if base.units[unit].kind != "heading":
                self._units[home].append(unit)
        for section, heading in enumerate(base.sections):
            self._sections[heading.parent].append(section)

    def units_went(self, section: int) -> int:
        """The section where most of its units are now, if at least half of them are in one; or itself."""
        if section not in self._went:
            self._went[section] = self._most_units(section)
        return self._went[section]

    def _most_units(self, section: int) -> int:
        places, of_side, page, units = self._remover(section)
        olds = self._units.get(section, [])
        if not olds or places[section] != NONE:
            return section
        went = Counter(
            of_side[page.home[units[old]]] for old in olds if units[old] != NONE
        )
        best = max(went, key=lambda place: (went[place], -place), default=section)
        return (
            best
            if best in self._structure.heads and went[best] * 2 >= len(olds)
            else section
        )

    def sections_went(self, parent: int) -> int:
        """Where the sections in it are now, if any is still there; or itself."""
        if parent not in self._led:
            self._led[parent] = self._most_sections(parent)
        return self._led[parent]

    def _most_sections(self, parent: int) -> int:
        places, of_side, page, _ = self._remover(parent)
        here = [
            places[old] for old in self._sections.get(parent, ()) if places[old] != NONE
        ]
        went = Counter(of_side[page.sections[section].parent] for section in here)
        best = max(went, key=lambda place: (went[place], -place), default=parent)
        return best if best in self._structure.heads else parent

    def _remover(self, section: int) -> tuple[list[int], list[int], Page, list[int]]:
        it = self._structure
        if it.sections.theirs[section] == NONE:
            return it.sections.theirs, it.sections.of_theirs, it.theirs, it.units.theirs
        return it.sections.ours, it.sections.of_ours, it.ours, it.units.ours
