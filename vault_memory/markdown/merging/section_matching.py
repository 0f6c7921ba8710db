"""Matches the sections of one version of a note to those of another."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from vault_memory.markdown.merging.parsed_note import ParsedNote
from vault_memory.markdown.merging.similarity import COMMON, LIKE, best_pairs, likeness, words_in

MAX_RENAMED = 100
"""How many sections of each version are compared by the likeness of their names"""

Position = tuple[int, int, int]
"""A level, and the matched sections right before and after"""
Key = Callable[[int], Hashable]


# --- Pairing ---

# Pairs numbers of a base and of a side in several passes; each takes part in at most one pair.


class Pairing:
    """Numbers that are paired, and those that are left."""

    def __init__(self, base_count: int, side: list[int]) -> None:
        """Begin with the pairs in `side`: for each number of the side that of the base, or -1."""
        self.side = side
        paired = set(side)
        self.base_left = [number for number in range(base_count) if number not in paired]
        self.side_left = [number for number, base in enumerate(side) if base < 0]

    def keep_base(self, condition: Callable[[int], bool]) -> None:
        """Leave out the numbers of the base that do not meet a condition."""
        self.base_left = list(filter(condition, self.base_left))

    def keep_side(self, condition: Callable[[int], bool]) -> None:
        """Leave out the numbers of the side that do not meet a condition."""
        self.side_left = list(filter(condition, self.side_left))

    def pair(
        self,
        base_key: Key,
        side_key: Key,
        fits: Callable[[int, int], bool] = lambda old_count, new_count: True,
    ) -> None:
        """Pair numbers with equal keys in their order; a key of None is never equal.

        `fits` decides from the counts of both sides whether the numbers of one key are paired.
        """
        if not self.base_left or not self.side_left:
            return
        olds: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number in self.base_left:
            key = base_key(number)
            if key is not None:
                olds[key].append(number)
        news: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number in self.side_left:
            key = side_key(number)
            if key in olds:
                news[key].append(number)
        for key, numbers in news.items():
            if fits(len(olds[key]), len(numbers)):
                self.take(zip(olds[key], numbers, strict=False))
        self.forget()

    def take(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Record pairs of a number of the base and one of the side."""
        for base, side in pairs:
            self.side[side] = base

    def forget(self) -> None:
        """Remove the recorded pairs from the numbers that are left."""
        paired = set(self.side)
        self.base_left = [number for number in self.base_left if number not in paired]
        self.side_left = [number for number in self.side_left if self.side[number] < 0]


# --- Section matching ---


def match_sections(base: ParsedNote, side: ParsedNote) -> list[int]:
    """Return for each section of a side the section of the base that it was, or -1."""
    # The text above the first heading is section 0 of each version.
    matched = [0, *[-1] * (len(side.sections) - 1)]
    pairing = Pairing(len(base.sections), matched)
    olds = paths(base)
    news = paths(side)
    pairing.pair(olds.__getitem__, news.__getitem__, int.__eq__)
    if pairing.base_left and pairing.side_left:
        # Several sections with one path: those that share units belong together.
        shared = _shared_units(base, side, pairing)
        same_path = [pair for pair in shared if olds[pair[1]] == news[pair[2]]]
        pairing.take(best_pairs(same_path))
        pairing.forget()
        pairing.pair(olds.__getitem__, news.__getitem__)
    if pairing.base_left and pairing.side_left:
        _match_renamed(base, side, pairing)
    return matched


def paths(note: ParsedNote) -> list[Hashable]:
    """Return for each section its level and name, with those of the sections around it."""
    result: list[Hashable] = []
    for _, level, name, parent in note.sections:
        parent_path = result[parent] if parent >= 0 else None
        result.append((parent_path, level, name))
    return result


def _match_renamed(base: ParsedNote, side: ParsedNote, pairing: Pairing) -> None:
    """Match sections by their units, their parents or children, their name, or their position."""
    pairing.take(best_pairs(_shared_units(base, side, pairing)))
    pairing.forget()
    _match_by_parent(base, side, pairing)
    _match_by_heading(base, side, pairing)
    old_positions = _positions(base, range(len(base.sections)))
    new_positions = _positions(side, pairing.side)
    old_texts = _texts(base)
    new_texts = _texts(side)
    # Of empty sections only the position is left to compare.
    pairing.pair(
        lambda old: None if old_texts[old] else old_positions[old],
        lambda new: None if new_texts[new] else new_positions[new],
        _are_both_single,
    )

    def may_match(old: int, new: int) -> bool:
        if old_positions[old] != new_positions[new]:
            return False
        if not old_texts[old] or not new_texts[new]:
            return True
        return not set(old_texts[old]).isdisjoint(new_texts[new])

    _match_by_name(base, side, pairing, may_match)


def _match_by_parent(base: ParsedNote, side: ParsedNote, pairing: Pairing) -> None:
    """Match equal headings below matched parents, then parents of matched sections."""
    matched = pairing.side

    def base_key(old: int) -> Hashable:
        _, level, name, parent = base.sections[old]
        return level, name, parent

    def side_key(new: int) -> Hashable:
        _, level, name, parent = side.sections[new]
        return level, name, matched[parent]

    pairing.pair(base_key, side_key)
    parents = _parents_by_children(base, side, matched)
    pairing.pair(lambda old: old, parents.get)


def _match_by_heading(base: ParsedNote, side: ParsedNote, pairing: Pairing) -> None:
    """Match the only sections with a heading, then the only ones with a name in any case."""
    pairing.pair(
        lambda old: _heading_of(base, old), lambda new: _heading_of(side, new), _are_both_single
    )
    pairing.pair(
        lambda old: base.sections[old].name.lower() or None,
        lambda new: side.sections[new].name.lower(),
        _are_both_single,
    )


def _heading_of(note: ParsedNote, section: int) -> Hashable:
    heading = note.sections[section]
    return heading.level, heading.name


def _are_both_single(old_count: int, new_count: int) -> bool:
    return old_count == new_count == 1


def _match_by_name(
    base: ParsedNote, side: ParsedNote, pairing: Pairing, may_match: Callable[[int, int], bool]
) -> None:
    """Match sections whose names are alike."""
    olds = {old: _name_words(base, old) for old in pairing.base_left[:MAX_RENAMED]}
    likes: list[tuple[float, int, int]] = []
    for new in pairing.side_left[:MAX_RENAMED]:
        words = _name_words(side, new)
        for old, old_words in olds.items():
            like = likeness(old_words, words)
            if like >= LIKE and may_match(old, new):
                likes.append((like, old, new))
    pairing.take(best_pairs(likes))
    pairing.forget()


def _name_words(note: ParsedNote, section: int) -> Counter[str]:
    name = note.sections[section].name.decode("utf-8", "replace")
    return words_in(name.casefold())


def _shared_units(
    base: ParsedNote, side: ParsedNote, pairing: Pairing
) -> list[tuple[float, int, int]]:
    """Return sections that share at least half of their units, with the number of these units."""
    olds = _texts(base)
    news = _texts(side)
    sections_with: defaultdict[bytes, list[int]] = defaultdict(list)
    for old in pairing.base_left:
        for text in set(olds[old]):
            sections_with[text].append(old)
    likes: list[tuple[float, int, int]] = []
    for new in pairing.side_left:
        counts: Counter[int] = Counter()
        for text in set(news[new]) & sections_with.keys():
            # A text in many sections shows nothing, and would make this quadratic.
            if len(sections_with[text]) <= COMMON:
                counts.update(sections_with[text])
        for old, count in sorted(counts.items()):
            smaller = min(len(olds[old]), len(news[new]))
            if count * 2 >= smaller:
                likes.append((float(count), old, new))
    return likes


def _texts(note: ParsedNote) -> list[list[bytes]]:
    """Return the texts of the units of each section, without headings."""
    texts: list[list[bytes]] = [[] for _ in note.sections]
    for unit, home in zip(note.units, note.home, strict=True):
        if unit.kind != "heading":
            texts[home].append(unit.text)
    return texts


def _parents_by_children(
    base: ParsedNote, side: ParsedNote, matched: Sequence[int]
) -> dict[int, int]:
    """Return for sections of a side the section of the base that their first matched child was in."""
    parents: dict[int, int] = {}
    for child, heading in enumerate(side.sections):
        if matched[child] > 0:
            parents.setdefault(heading.parent, base.sections[matched[child]].parent)
    return parents


def _positions(note: ParsedNote, matched: Sequence[int]) -> list[Position]:
    positions: list[Position] = []
    after = -1
    for section in reversed(range(len(note.sections))):
        before = matched[section - 1] if section else -1
        level = note.sections[section].level
        positions.append((level, before, after))
        after = matched[section]
    positions.reverse()
    return positions
