"""Which unit of one version of a note is which of another: unchanged, moved, edited, new or gone.

By text in the same section, then by text anywhere (a move), then by normalised text and by likeness of words in the
same section. Units with the same text are taken in their order. What is left was added or deleted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from vault_memory.markdown.items import normalised
from vault_memory.markdown.merging.parsed_note import Page
from vault_memory.markdown.merging.similarity import (
    COMMON,
    LIKE,
    best_pairs,
    candidates,
    likeness,
    words_in,
)

NEARER = 1e-6
"""Of two that are equally like, the one with the same neighbours is meant"""
STEPS = sorted(
    ((old, new) for old in range(5) for new in range(5) if old or new), key=sum
)
"""Units of the base and of a side that are stepped over at once, the fewest first"""
FEW_SECTIONS = 100
"""So many are looked at for a name that is like another"""

_number = re.compile(rb"[0-9]{1,9}(?=[.)](?:[ \t]|$))").match
_TEXT = ("item", "paragraph", "quote", "heading")

Keys = Callable[[int], Hashable]


class Matched:
    """One version of a note matched to the base: numbers in the base, or -1."""

    def __init__(self, base: Page, side: Page) -> None:
        self.sections = match_sections(base, side)
        self.units = _match_units(base, side, self.sections)


def unit_key(page: Page, unit: int) -> bytes:
    """The text by which a unit is recognised: that of an ordered item without its number."""
    _, _, _, text = page.units[unit]
    if text[0] in b"0123456789" and (number := _number(text)):
        return b"0" + text[number.end() :]
    return text


def normal(text: bytes) -> str:
    """The glossary's normalised text."""
    return normalised(text.decode("utf-8", "replace"))


def all_normal(text: bytes) -> str:
    """The same of all lines, also of those below an item."""
    return normal(b" ".join(text.split()))


class _Pairing:
    """Pairs of a base and a side, found in passes; each takes part in at most one."""

    def __init__(self, base_count: int, side: list[int]) -> None:
        self.side = side
        taken = set(side)
        self.base_left = [number for number in range(base_count) if number not in taken]
        self.side_left = [number for number, known in enumerate(side) if known < 0]

    def pair(
        self,
        base_key: Keys,
        side_key: Keys,
        fits: Callable[[int, int], bool] = lambda old, new: True,
    ) -> None:
        """Pairs those with equal keys in their order, where their numbers fit; None is no key."""
        if not self.base_left or not self.side_left:
            return
        groups: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number in self.base_left:
            if (key := base_key(number)) is not None:
                groups[key].append(number)
        found: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number in self.side_left:
            if (key := side_key(number)) in groups:
                found[key].append(number)
        for key, numbers in found.items():
            if fits(len(groups[key]), len(numbers)):
                self.take(zip(groups[key], numbers, strict=False))
        self.forget()

    def take(self, pairs: Iterable[tuple[int, int]]) -> None:
        for base, side in pairs:
            self.side[side] = base

    def forget(self) -> None:
        taken = set(self.side)
        self.base_left = [number for number in self.base_left if number not in taken]
        self.side_left = [number for number in self.side_left if self.side[number] < 0]


def _match_units(base: Page, side: Page, sections: Sequence[int]) -> list[int]:
    matched = [-1] * len(side.units)
    for section, known in enumerate(sections):
        if known > 0:
            matched[side.sections[section].unit] = base.sections[known].unit
    side_home = [sections[home] for home in side.home]
    _match_runs(base, side, side_home, matched)
    pairing = _Pairing(len(base.units), matched)
    pairing.base_left = [
        number for number in pairing.base_left if base.units[number].kind != "heading"
    ]
    pairing.side_left = [
        number for number in pairing.side_left if side.units[number].kind != "heading"
    ]
    olds, news = _keys(base, pairing.base_left), _keys(side, pairing.side_left)
    pairing.pair(
        lambda old: (base.home[old], olds[old]), lambda new: (side_home[new], news[new])
    )
    pairing.pair(olds.__getitem__, news.__getitem__)
    twins = {unit.text for unit in base.units} if pairing.side_left else set()
    pairing.side_left = [
        new for new in pairing.side_left if side.units[new].text not in twins
    ]
    if pairing.base_left and pairing.side_left:
        _match_edited(base, side, side_home, pairing)
    return matched


def _match_runs(
    base: Page, side: Page, side_home: Sequence[int], matched: list[int]
) -> None:
    """What is alike from the beginning, and from the end: nearly all, where little was changed.

    From the beginning a few units that were added, deleted or edited are stepped over.
    """
    olds, news = [unit.text for unit in base.units], [unit.text for unit in side.units]
    old = new = 0
    old_end, new_end = len(olds), len(news)

    def alike(old: int, new: int) -> bool:
        return (
            old < old_end
            and new < new_end
            and olds[old] == news[new]
            and base.home[old] == side_home[new]
        )

    while old < old_end and new < new_end:
        if alike(old, new):
            matched[new] = old
            old, new = old + 1, new + 1
            continue
        for skip_old, skip_new in STEPS:
            if alike(old + skip_old, new + skip_new):
                old, new = old + skip_old, new + skip_new
                break
        else:
            break
    while old < old_end and new < new_end and alike(old_end - 1, new_end - 1):
        old_end, new_end = old_end - 1, new_end - 1
        matched[new_end] = old_end


def _keys(page: Page, numbers: Iterable[int]) -> dict[int, bytes]:
    return {number: unit_key(page, number) for number in numbers}


def _match_edited(
    base: Page, side: Page, side_home: Sequence[int], pairing: _Pairing
) -> None:
    base_texts = {
        number: normal(base.units[number].text) for number in pairing.base_left
    }
    side_texts = {
        number: normal(side.units[number].text) for number in pairing.side_left
    }
    pairing.pair(
        lambda number: (
            (base.home[number], base_texts[number]) if base_texts[number] else None
        ),
        lambda number: (side_home[number], side_texts[number]),
    )
    groups: defaultdict[int, tuple[list[int], list[int]]] = defaultdict(
        lambda: ([], [])
    )
    for number in pairing.base_left:
        groups[base.home[number]][0].append(number)
    for number in pairing.side_left:
        groups[side_home[number]][1].append(number)
    for olds, news in groups.values():
        old_words = {number: words_in(base_texts[number]) for number in olds}
        new_words = {number: words_in(side_texts[number]) for number in news}
        likes = [
            (like + _near(pairing.side, old, new, len(base.units)) * NEARER, old, new)
            for old, new in candidates(old_words, new_words)
            if _same_sort(base.units[old].kind, side.units[new].kind)
            and (like := likeness(old_words[old], new_words[new])) >= LIKE
        ]
        pairing.take(best_pairs(likes))
    pairing.forget()


def _near(matched: Sequence[int], old: int, new: int, count: int) -> int:
    """How many neighbours two units have in common: 0 to 2."""
    before = matched[new - 1] == old - 1 if new and old else new == old
    after = matched[new + 1] == old + 1 if new + 1 < len(matched) else old + 1 == count
    return before + after


def _same_sort(one: str, other: str) -> bool:
    return one == other or (one in _TEXT and other in _TEXT)


def _once(old: int, new: int) -> bool:
    return old == new == 1


def match_sections(base: Page, side: Page) -> list[int]:
    """For each section of a side the one of the base that it was, or -1."""
    matched = [0] + [-1] * (len(side.sections) - 1)
    pairing = _Pairing(len(base.sections), matched)
    olds, news = paths(base), paths(side)
    pairing.pair(olds.__getitem__, news.__getitem__, int.__eq__)
    if pairing.base_left and pairing.side_left:
        shared = _shared_units(base, side, pairing)
        pairing.take(
            best_pairs([pair for pair in shared if olds[pair[1]] == news[pair[2]]])
        )
        pairing.forget()
        pairing.pair(olds.__getitem__, news.__getitem__)
    if pairing.base_left and pairing.side_left:
        _match_renamed(base, side, pairing)
    return matched


def paths(page: Page) -> list[Hashable]:
    """A section's level and name with those of the sections around it."""
    found: list[Hashable] = []
    for _, level, name, parent in page.sections:
        found.append((found[parent] if parent >= 0 else None, level, name))
    return found


def _match_renamed(base: Page, side: Page, pairing: _Pairing) -> None:
    """By what they hold, by the sections around them or in them, by name alone."""
    matched, olds, news = pairing.side, base.sections, side.sections
    pairing.take(best_pairs(_shared_units(base, side, pairing)))
    pairing.forget()
    pairing.pair(
        lambda old: olds[old][1:],
        lambda new: (*news[new][1:3], matched[news[new].parent]),
    )
    parents = _parents_by_children(base, side, matched)
    pairing.pair(lambda old: old, parents.get)
    pairing.pair(lambda old: olds[old][1:3], lambda new: news[new][1:3], _once)
    pairing.pair(
        lambda old: olds[old].name.lower() or None,
        lambda new: news[new].name.lower(),
        _once,
    )
    old_places, new_places = _places(base, range(len(olds))), _places(side, matched)
    old_units, new_units = _contents(base), _contents(side)
    pairing.pair(
        lambda old: None if old_units[old] else old_places[old],
        lambda new: None if new_units[new] else new_places[new],
        _once,
    )
    _match_names(
        base,
        side,
        pairing,
        lambda old, new: (
            old_places[old] == new_places[new]
            and (
                not old_units[old]
                or not new_units[new]
                or not set(old_units[old]).isdisjoint(new_units[new])
            )
        ),
    )


def _match_names(
    base: Page, side: Page, pairing: _Pairing, may_be: Callable[[int, int], bool]
) -> None:
    """With a name like the old one."""
    olds = {old: _name_words(base, old) for old in pairing.base_left}
    likes = []
    for new in pairing.side_left[:FEW_SECTIONS]:
        words = _name_words(side, new)
        likes += [
            (like, old, new)
            for old in pairing.base_left[:FEW_SECTIONS]
            if (like := likeness(olds[old], words)) >= LIKE and may_be(old, new)
        ]
    pairing.take(best_pairs(likes))
    pairing.forget()


def _name_words(page: Page, section: int) -> Counter[str]:
    return words_in(page.sections[section].name.decode("utf-8", "replace").casefold())


def _shared_units(
    base: Page, side: Page, pairing: _Pairing
) -> list[tuple[float, int, int]]:
    """Sections that have at least half of their units in common, and how many."""
    olds, news = _contents(base), _contents(side)
    holders: defaultdict[bytes, list[int]] = defaultdict(list)
    for old in pairing.base_left:
        for text in set(olds[old]):
            holders[text].append(old)
    likes = []
    for new in pairing.side_left:
        known = [holders[text] for text in set(news[new]) if text in holders]
        shared = Counter(
            old for found in known if len(found) <= COMMON for old in found
        )
        likes += [
            (float(count), old, new)
            for old, count in sorted(shared.items())
            if count * 2 >= min(len(olds[old]), len(news[new]))
        ]
    return likes


def _contents(page: Page) -> list[list[bytes]]:
    found: list[list[bytes]] = [[] for _ in page.sections]
    for unit, home in zip(page.units, page.home, strict=True):
        if unit.kind != "heading":
            found[home].append(unit.text)
    return found


def _parents_by_children(
    base: Page, side: Page, matched: Sequence[int]
) -> dict[int, int]:
    """For sections of a side the one of the base that their first known child was in."""
    found: dict[int, int] = {}
    for child, heading in enumerate(side.sections):
        if matched[child] > 0:
            found.setdefault(heading.parent, base.sections[matched[child]].parent)
    return found


Place = tuple[int, int, int]
"""A level, and the known sections right before and after"""


def _places(page: Page, known: Sequence[int]) -> list[Place]:
    after, found = -1, []
    for section in range(len(page.sections) - 1, -1, -1):
        found.append(
            (page.sections[section].level, known[section - 1] if section else -1, after)
        )
        after = known[section]
    return found[::-1]
