"""Puts the sections and units of a structural merge in order."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from vault_memory.markdown.merging.alignment import Alignment, MergedUnit, MergeState
from vault_memory.markdown.merging.front_matter import interleave

_time_of_day = re.compile(
    rb"[ ]{0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?([0-2]?[0-9]:[0-5][0-9])(?![0-9])"
).match

Relation = Callable[[int, int], bool]
"""A relation of two threads, or of a thread and a section"""


class UnitOrder:
    """The order of the units that a merge keeps."""

    def __init__(self, merge: MergeState) -> None:
        self._merge = merge
        self._base_parents = [heading.parent for heading in merge.base.sections]

    def units(self) -> list[MergedUnit] | None:
        """Return all units in order; None where sections would contain each other."""
        merge = self._merge
        units = self._by_section(
            merge.homes,
            merge.units,
            self._is_in_place,
            self._is_edited_by_us,
            self._gives_way,
            self._is_earlier,
        )
        sections = self._by_section(
            merge.parents,
            merge.sections,
            self._has_base_parent,
            lambda thread, parent: False,
            lambda mine, waiting: True,
            lambda waiting, mine: False,
        )
        ordered: list[MergedUnit] = []
        pending = [0]
        count = 0
        while pending:
            section = pending.pop()
            count += 1
            heading = merge.headings[section]
            if heading is not None:
                ordered.append(heading)
            for thread in units.get(section, ()):
                ordered.append(merge.merged[thread])
                ordered += merge.beside.get(thread, ())
            pending += reversed(sections.get(section, ()))
        # Sections that contain each other cannot be reached from the top.
        return ordered if count == len(merge.headings) else None

    def _by_section(
        self,
        homes: dict[int, int],
        threads: Alignment,
        is_in_place: Relation,
        is_edited: Relation,
        gives_way: Relation,
        is_earlier: Relation,
    ) -> dict[int, list[int]]:
        """Return the threads of each section in their order, or in ours where only we changed it."""
        ours = _grouped(homes, threads.of_ours)
        theirs = _grouped(homes, threads.of_theirs)
        ordered: dict[int, list[int]] = {}
        for section in {**theirs, **ours}:
            mine, yours = ours.get(section, []), theirs.get(section, [])
            if mine == yours:
                ordered[section] = yours
                continue
            shared = set(mine) & set(yours)
            unmoved = {thread for thread in shared if is_in_place(thread, section)}
            if _rises(mine, unmoved):
                # Fault (A6): a person deleted a line and wrote a similar line in
                # another place. A late save that still had the first line would take
                # the second line to the place of the first.
                edited = {thread for thread in shared if is_edited(thread, section)}
                moved = _out_of_place(mine, unmoved, edited)
                moved -= _out_of_place(yours, unmoved, edited)
                lead = [thread for thread in yours if thread not in moved]
                ordered[section] = interleave(lead, mine, gives_way, is_earlier)
            elif _rises(yours, unmoved):
                ordered[section] = interleave(mine, yours, gives_way, lead_first=False)
            else:
                ordered[section] = interleave(yours, mine, gives_way, is_earlier)
        return ordered

    def _is_in_place(self, thread: int, section: int) -> bool:
        """Return whether the base has a unit in that section and we did not edit it.

        The position of such a unit shows whether we moved it.
        """
        if not self._was_in(thread, section):
            return False
        base, ours, _ = self._texts(thread)
        return ours == base

    def _is_edited_by_us(self, thread: int, section: int) -> bool:
        """Return whether the base has a unit in that section and only we edited it."""
        if not self._was_in(thread, section):
            return False
        base, ours, theirs = self._texts(thread)
        return ours != base and theirs == base

    def _was_in(self, thread: int, section: int) -> bool:
        base = self._merge.base
        return thread < len(base.units) and base.home[thread] == section

    def _texts(self, thread: int) -> tuple[bytes, bytes, bytes]:
        """Return the text of a unit in the base, in ours and in theirs, which all have it."""
        merge = self._merge
        base = merge.base.units[thread]
        ours = merge.ours.units[merge.units.ours[thread]]
        theirs = merge.theirs.units[merge.units.theirs[thread]]
        return base.text, ours.text, theirs.text

    def _has_base_parent(self, thread: int, parent: int) -> bool:
        parents = self._base_parents
        return thread < len(parents) and parents[thread] == parent

    def _gives_way(self, mine: int, waiting: int) -> bool:
        merged = self._merge.merged
        return merged[waiting].kind != "item" or merged[mine].kind == "item"

    def _is_earlier(self, waiting: int, mine: int) -> bool:
        """Compare two items that begin with the time of day, as in a log.

        The order is the same on whichever side they were added.
        """
        waiting_text = self._merge.merged[waiting].text
        my_text = self._merge.merged[mine].text
        waiting_time, my_time = _time(waiting_text), _time(my_text)
        if not waiting_time or not my_time:
            return False
        return (waiting_time, waiting_text) < (my_time, my_text)


def _grouped(homes: dict[int, int], threads: Iterable[int]) -> dict[int, list[int]]:
    """Return the threads of each section, each once, in the order of `threads`."""
    groups: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for thread in threads:
        if thread in homes:
            groups[homes[thread]][thread] = None
    return {section: list(group) for section, group in groups.items()}


def _time(item: bytes) -> bytes:
    match = _time_of_day(item)
    return match[1].rjust(5, b"0") if match else b""


def _out_of_place(threads: Sequence[int], unmoved: set[int], edited: set[int]) -> set[int]:
    """Return the edited threads that passed a thread that was not moved."""
    moved: set[int] = set()
    last = -1
    for thread in threads:
        if thread in unmoved:
            last = max(last, thread)
        elif thread in edited and thread < last:
            moved.add(thread)
    first = max(threads, default=-1)
    for thread in reversed(threads):
        if thread in unmoved:
            first = min(first, thread)
        elif thread in edited and thread > first:
            moved.add(thread)
    return moved


def _rises(threads: Iterable[int], unmoved: set[int]) -> bool:
    """Return whether the threads that were not moved are in the order of the base."""
    in_order = pairwise(thread for thread in threads if thread in unmoved)
    return all(before <= after for before, after in in_order)
