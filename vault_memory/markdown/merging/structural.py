"""The structural three-way merge: decides what becomes of each section and unit, and their order."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from vault_memory.markdown.merging.alignment import (
    NONE,
    MergedUnit,
    MergeState,
    SectionConflict,
    fold_key,
)
from vault_memory.markdown.merging.block_merge import (
    FieldConflict,
    Kind,
    MergedLines,
    join_unit,
    marked,
    without_below,
)
from vault_memory.markdown.merging.matching import unit_key
from vault_memory.markdown.merging.merged_text import write
from vault_memory.markdown.merging.parsed_note import ParsedNote, parse_note
from vault_memory.markdown.merging.unit_order import UnitOrder

DEEPEST = 24
"""Levels of nested items that are merged unit by unit; deeper ones are merged as text"""
RETURNED = "the section had been deleted"


# --- Moved sections ---


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


# --- The merge ---


class StructuralMerge(MergeState):
    """One merge of three versions of a note."""

    def __init__(
        self,
        base: ParsedNote,
        ours: ParsedNote,
        theirs: ParsedNote,
        mark: bytes | None,
        depth: int = 0,
    ) -> None:
        super().__init__(base, ours, theirs)
        self.mark = mark
        self.depth = depth
        self.conflicts: list[SectionConflict] = []

    def run(self) -> list[MergedUnit] | None:
        """Return the units of the result in order; None where sections would contain each other."""
        for thread in range(len(self.sections)):
            self._decide_section(thread)
        versions = zip(self.units.base, self.units.ours, self.units.theirs, strict=True)
        for thread, numbers in enumerate(versions):
            self._decide_unit(thread, *numbers)
        self._fold_duplicates()
        self._find_homes()
        return UnitOrder(self).units()

    # --- What stays ---

    def _decide_section(self, thread: int) -> None:
        if thread == 0:
            self.headings[0] = None
            return
        base_section = self.sections.base[thread]
        our_section = self.sections.ours[thread]
        their_section = self.sections.theirs[thread]
        base = _heading_text(self.base, base_section)
        ours = _heading_text(self.ours, our_section)
        theirs = _heading_text(self.theirs, their_section)
        if ours is None or theirs is None:
            survivor = ours if theirs is None else theirs
            if survivor in (None, base):
                return
        if theirs is None or (theirs == base and ours is not None):
            self._keep_heading(thread, self.ours, our_section)
            return
        self._keep_heading(thread, self.theirs, their_section)
        if base is None or ours is None or ours in (base, theirs):
            return
        name = self.theirs.sections[their_section].name
        conflict = FieldConflict(theirs, ours, "both renamed the section")
        self.conflicts.append(SectionConflict("heading", name, conflict))

    def _keep_heading(self, thread: int, version: ParsedNote, section: int) -> None:
        unit = version.sections[section].unit
        text = version.units[unit].text
        self.headings[thread] = MergedUnit(
            kind="heading", text=text, source=version, unit=unit, thread=thread
        )

    def _decide_unit(self, thread: int, base: int, ours: int, theirs: int) -> None:
        if ours == NONE or theirs == NONE:
            self._decide_unit_of_one_side(thread, base, ours, theirs)
            return
        their_unit = self.theirs.units[theirs]
        if their_unit.kind == "heading":
            return
        home = self._home(base, ours, theirs)
        our_text = self.ours.units[ours].text
        if our_text == their_unit.text:
            self._keep(thread, home, self.theirs, theirs)
            return
        if base != NONE:
            base_text = self.base.units[base].text
        else:
            base_text = _common_base(our_text, their_unit.text)
        if their_unit.text == base_text:
            self._keep(thread, home, self.ours, ours)
        elif our_text == base_text:
            self._keep(thread, home, self.theirs, theirs)
        else:
            self._join(thread, base_text, home)

    def _decide_unit_of_one_side(self, thread: int, base: int, ours: int, theirs: int) -> None:
        if ours == theirs:
            return
        if base != NONE and not self._was_changed(base, ours, theirs):
            return
        version, number = self.theirs, theirs
        if theirs == NONE:
            version, number = self.ours, ours
        if version.units[number].kind != "heading":
            self._keep(thread, self._home(base, ours, theirs), version, number)

    def _keep(self, thread: int, home: int, version: ParsedNote, number: int) -> None:
        kind, _, _, text = version.units[number]
        self.homes[thread] = home
        self.merged[thread] = MergedUnit(kind, text, version, number, thread)

    def _was_changed(self, base: int, ours: int, theirs: int) -> bool:
        """Return whether the side that still has a unit edited it, or moved it on its own.

        A unit that left its section because the side deleted that section was not moved on its own.
        """
        if theirs != NONE:
            version, unit = self.theirs, theirs
            thread_of, numbers = self.sections.of_theirs, self.sections.theirs
        else:
            version, unit = self.ours, ours
            thread_of, numbers = self.sections.of_ours, self.sections.ours
        if unit_key(version, unit) != unit_key(self.base, base):
            return True
        home = self.base.home[base]
        return thread_of[version.home[unit]] != home and numbers[home] != NONE

    def _home(self, base: int, ours: int, theirs: int) -> int:
        """Return the section of a unit: theirs, or ours where only we moved it."""
        if theirs == NONE:
            return self.sections.of_ours[self.ours.home[ours]]
        home = self.sections.of_theirs[self.theirs.home[theirs]]
        if ours == NONE or base == NONE or home != self.base.home[base]:
            return home
        return self.sections.of_ours[self.ours.home[ours]]

    def _join(self, thread: int, base_text: bytes, home: int) -> None:
        """Merge a unit that both sides changed."""
        base = self.units.base[thread]
        theirs = self.units.theirs[thread]
        our_unit = self.ours.units[self.units.ours[thread]]
        their_unit = self.theirs.units[theirs]
        base_unit = self.base.units[base] if base != NONE else their_unit
        kinds = {base_unit.kind, our_unit.kind, their_unit.kind}
        joined = join_unit(kinds, base_text, our_unit.text, their_unit.text, self._merge_inside)
        if joined.text == their_unit.text:
            self._keep(thread, home, self.theirs, theirs)
        else:
            self.homes[thread] = home
            self.merged[thread] = MergedUnit(
                kind=their_unit.kind, text=joined.text, source=None, unit=0, thread=thread
            )
        if joined.beside is not None and self.mark is not None:
            copies = marked(our_unit.kind, joined.beside, self.mark)
            self.beside[thread] = [
                MergedUnit(kind=copy_kind, text=text, source=None, unit=0, thread=-1)
                for copy_kind, text in copies
            ]
        name = self._name(home)
        kind: Kind = "item" if their_unit.kind == "item" else "text"
        self.conflicts += [SectionConflict(kind, name, conflict) for conflict in joined.conflicts]

    def _merge_inside(self, base: bytes, ours: bytes, theirs: bytes) -> MergedLines | None:
        """Merge the lines below an item as notes of their own; None where that is not possible."""
        # Fault (H122): a note of 50,000 nested items would end in a RecursionError.
        if self.depth >= DEEPEST:
            return None
        versions = [parse_note(text) for text in (base, ours, theirs)]
        if any(version and (version.front or version.bom) for version in versions):
            return None
        base_note, our_note, their_note = versions
        if not base_note or not our_note or not their_note:
            return None
        inner = StructuralMerge(base_note, our_note, their_note, self.mark, self.depth + 1)
        units = inner.run()
        result = write(inner, units) if units is not None else None
        if result is None:
            return None
        return MergedLines(result, [located.conflict for located in inner.conflicts])

    def _name(self, section: int) -> bytes:
        theirs, ours = self.sections.theirs[section], self.sections.ours[section]
        if theirs != NONE:
            return self.theirs.sections[theirs].name
        return self.ours.sections[ours].name if ours != NONE else b""

    # --- Duplicates ---

    def _fold_duplicates(self) -> None:
        """Drop what we wrote where they wrote the same in another place."""
        our_threads = [
            thread
            for thread, unit in self.merged.items()
            if unit.source is self.ours and self._wrote(thread, self.ours, self.units.ours)
        ]
        if not our_threads:
            return
        remaining = Counter(
            fold_key(self.theirs, self.units.theirs[thread])
            for thread in self.merged
            if self._wrote(thread, self.theirs, self.units.theirs)
        )
        for thread in our_threads:
            key = fold_key(self.ours, self.units.ours[thread])
            # Fault (A12, A17): the bot and a person may add the same item at once. Each
            # item of theirs drops one of ours, so that what a person wrote twice stays
            # twice.
            if remaining[key] > 0:
                remaining[key] -= 1
                del self.merged[thread], self.homes[thread]

    def _wrote(self, thread: int, version: ParsedNote, numbers: Sequence[int]) -> bool:
        """Return whether a side wrote this item: the base does not have it with that text."""
        number = numbers[thread]
        if number == NONE or version.units[number].kind != "item":
            return False
        base = self.units.base[thread]
        if base != NONE:
            return version.units[number].text != self.base.units[base].text
        return NONE in (self.units.ours[thread], self.units.theirs[thread])

    # --- Sections of units, and parents of sections ---

    def _find_homes(self) -> None:
        """Give each unit and each section a section that is in the result.

        A unit without its section follows its neighbours; otherwise the section comes back.
        """
        moves = Moves(self)
        self._bring_back_sections(self._move_units(moves))
        title = self._title()
        pending = [thread for thread in self.headings if thread]
        for thread in pending:
            parent = self._parent(thread)
            if parent not in self.headings:
                # A title that was deleted does not come back for the sake of its sections.
                parent = 0 if parent == title else moves.sections_went(parent)
            if parent not in self.headings:
                self._restore_heading(parent)
                pending.append(parent)
            self.parents[thread] = parent

    def _move_units(self, moves: Moves) -> dict[int, list[bytes]]:
        """Move units out of deleted sections; return the texts of those that have to stay there."""
        stranded: defaultdict[int, list[bytes]] = defaultdict(list)
        for thread, home in self.homes.items():
            if home in self.headings:
                continue
            new_home = moves.units_went(home)
            self.homes[thread] = new_home
            if new_home not in self.headings:
                stranded[new_home].append(self.merged[thread].text)
        return stranded

    def _bring_back_sections(self, stranded: dict[int, list[bytes]]) -> None:
        for section, texts in stranded.items():
            # Fault (A16): a person deleted the section while the bot added to it. Its
            # new lines would be lost with the section.
            self._restore_heading(section)
            conflict = FieldConflict(b"\n".join(texts), b"", RETURNED)
            self.conflicts.append(SectionConflict("section", self._name(section), conflict))

    def _restore_heading(self, section: int) -> None:
        ours, theirs = self.sections.ours[section], self.sections.theirs[section]
        if theirs != NONE:
            self._keep_heading(section, self.theirs, theirs)
        else:
            self._keep_heading(section, self.ours, ours)

    def _title(self) -> int:
        """Return the only level-1 section of the base; NONE without one or with several."""
        titles = [number for number, heading in enumerate(self.base.sections) if heading.level == 1]
        return titles[0] if len(titles) == 1 else NONE

    def _parent(self, thread: int) -> int:
        """Return the parent of a section: theirs, or ours where only we moved the section."""
        sections = self.sections
        base_section = sections.base[thread]
        our_section = sections.ours[thread]
        their_section = sections.theirs[thread]
        ours = theirs = base = NONE
        if base_section != NONE:
            base = self.base.sections[base_section].parent
        if our_section != NONE:
            ours = sections.of_ours[self.ours.sections[our_section].parent]
        if their_section == NONE:
            return ours
        theirs = sections.of_theirs[self.theirs.sections[their_section].parent]
        if theirs == base and our_section != NONE:
            return ours
        return theirs


def _common_base(ours: bytes, theirs: bytes) -> bytes:
    """Return a base for two units that both sides added with the same words.

    It is our text, so that theirs wins. Of nested items the base has none, so that both stay.
    """
    return without_below(ours) if b"\n" in ours or b"\n" in theirs else ours


def _heading_text(version: ParsedNote, section: int) -> bytes | None:
    if section == NONE:
        return None
    return version.units[version.sections[section].unit].text
