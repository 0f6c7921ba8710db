"""Sections and units followed through three versions of a note, each under one number."""

from collections import defaultdict, deque
from collections.abc import Hashable

from vault_memory.markdown.merging.matching import Matched, all_normal, normal
from vault_memory.markdown.merging.parsed_note import Page

NONE = -9
"""Where a version does not have it"""


class Alignment:
    """Of each thread where it stands in the base, in ours and in theirs. Those of the base have the base's numbers."""

    def __init__(self, base_count: int) -> None:
        self.base_count = base_count
        self.base = list(range(base_count))
        self.ours = [NONE] * base_count
        self.theirs = [NONE] * base_count
        self.of_ours: list[int] = []
        self.of_theirs: list[int] = []

    def new(self) -> int:
        self.base.append(NONE)
        self.ours.append(NONE)
        self.theirs.append(NONE)
        return len(self.base) - 1

    def __len__(self) -> int:
        return len(self.base)


def section_threads(
    ours: Page, theirs: Page, base_count: int, mine: Matched, yours: Matched
) -> Alignment:
    """Sections that both added, or added and renamed to, are one when name, level and parent are."""
    threads = Alignment(base_count)
    named: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for number, (heading, known) in enumerate(
        zip(theirs.sections, yours.sections, strict=True)
    ):
        thread = known if known >= 0 else threads.new()
        threads.theirs[thread] = number
        threads.of_theirs.append(thread)
        if number:
            named[
                threads.of_theirs[heading.parent], heading.level, heading.name.lower()
            ].append(thread)
    known_to_both = set(mine.sections)
    for number, (heading, known) in enumerate(
        zip(ours.sections, mine.sections, strict=True)
    ):
        thread = known
        if known < 0:
            waiting = named[
                threads.of_ours[heading.parent], heading.level, heading.name.lower()
            ]
            while (
                waiting
                and waiting[0] in known_to_both
                and threads.base[waiting[0]] == NONE
            ):
                waiting.popleft()
            thread = waiting.popleft() if waiting else threads.new()
        if threads.ours[thread] == NONE:
            threads.ours[thread] = number
        threads.of_ours.append(thread)
    return threads


def unit_threads(
    base: Page,
    ours: Page,
    theirs: Page,
    mine: Matched,
    yours: Matched,
    sections: Alignment,
) -> Alignment:
    """Units that both added to one section are one when their text is, or their normalised text."""
    threads = Alignment(len(base.units))
    for number, known in enumerate(yours.units):
        thread = known if known >= 0 else threads.new()
        threads.theirs[thread] = number
        threads.of_theirs.append(thread)
    same = _added_by_both(ours, theirs, mine, yours, sections)
    for number, known in enumerate(mine.units):
        thread = known
        if known < 0:
            thread = (
                threads.of_theirs[same[number]] if number in same else threads.new()
            )
        threads.ours[thread] = number
        threads.of_ours.append(thread)
    return threads


def _added_by_both(
    ours: Page, theirs: Page, mine: Matched, yours: Matched, sections: Alignment
) -> dict[int, int]:
    """Of ours to theirs, each at most once."""
    added = [
        number
        for number, known in enumerate(mine.units)
        if known < 0 and ours.units[number].kind != "heading"
    ]
    if not added:
        return {}
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for number, known in enumerate(yours.units):
        if known < 0 and theirs.units[number].kind != "heading":
            waiting[
                sections.of_theirs[theirs.home[number]], _head_key(theirs, number)
            ].append(number)
    found = {}
    for number in added:
        key = sections.of_ours[ours.home[number]], _head_key(ours, number)
        if waiting[key]:
            found[number] = waiting[key].popleft()
    return found


def _head_key(page: Page, unit: int) -> Hashable:
    """What two units have in common that are one unit: of an item its own words."""
    kind, _, _, text = page.units[unit]
    return (normal(text) or text) if kind == "item" else fold_key(page, unit)


def fold_key(page: Page, unit: int) -> Hashable:
    """What two units have in common that say the same. With lines below it an item says more than its own words."""
    kind, _, _, text = page.units[unit]
    if kind == "paragraph" or (kind == "item" and b"\n" not in text):
        return all_normal(text) or text
    return kind, text
