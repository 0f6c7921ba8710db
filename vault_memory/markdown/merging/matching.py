"""Matches the units of one version of a note to those of another.

Units are matched by text in the same section, then by text anywhere (a move), then by normalised
text and by likeness of words in the same section. Units with the same text are matched in their
order. Units without a match were added or deleted.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import product
from typing import NamedTuple

from vault_memory.markdown.items import normalised
from vault_memory.markdown.merging.parsed_note import ParsedNote
from vault_memory.markdown.merging.section_matching import Pairing, match_sections
from vault_memory.markdown.merging.similarity import (
    LIKE,
    best_pairs,
    candidates,
    likeness,
    words_in,
)

NEARER = 1e-6
"""Bonus for each common neighbour, which decides between units that are equally alike"""
MOST_SKIPPED = 4
"""Units of the base, and of a side, that a match from the beginning skips at once"""
STEPS = sorted(product(range(MOST_SKIPPED + 1), repeat=2), key=sum)[1:]
"""How many units of the base and of a side are skipped, the fewest first"""

_PlacedText = tuple[int, bytes]
"""The section of a unit in the base, and its text"""
_Position = tuple[int, int]
"""A unit of the base, and a unit of a side"""

_number = re.compile(rb"[0-9]{1,9}(?=[.)](?:[ \t]|$))").match
_TEXT_KINDS = frozenset(["item", "paragraph", "quote", "heading"])


class Matched:
    """One version of a note matched to the base: numbers in the base, or -1."""

    def __init__(self, base: ParsedNote, side: ParsedNote) -> None:
        self.sections = match_sections(base, side)
        self.units = _match_units(base, side, self.sections)


def unit_key(note: ParsedNote, unit: int) -> bytes:
    """Return the text by which a unit is recognised: of an ordered item without its number."""
    _, _, _, text = note.units[unit]
    # The pattern costs more than this check, and few units begin with a number.
    number = _number(text) if text[0] in b"0123456789" else None
    return b"0" + text[number.end() :] if number else text


def normal(text: bytes) -> str:
    """Return the normalised text of a unit's own lines."""
    return normalised(text.decode("utf-8", "replace"))


def all_normal(text: bytes) -> str:
    """Return the normalised text of all lines, including those below an item."""
    return normal(b" ".join(text.split()))


def _match_units(base: ParsedNote, side: ParsedNote, sections: Sequence[int]) -> list[int]:
    """Return for each unit of a side the unit of the base, or -1."""
    matched = [-1] * len(side.units)
    for section, base_section in enumerate(sections):
        if base_section > 0:
            heading = side.sections[section].unit
            matched[heading] = base.sections[base_section].unit
    side_home = [sections[home] for home in side.home]
    _match_runs(base, side, side_home, matched)
    pairing = Pairing(len(base.units), matched)
    pairing.keep_base(lambda number: base.units[number].kind != "heading")
    pairing.keep_side(lambda number: side.units[number].kind != "heading")
    olds = {number: unit_key(base, number) for number in pairing.base_left}
    news = {number: unit_key(side, number) for number in pairing.side_left}
    pairing.pair(lambda old: (base.home[old], olds[old]), lambda new: (side_home[new], news[new]))
    pairing.pair(olds.__getitem__, news.__getitem__)
    if pairing.side_left:
        # A copy of a unit of the base is an addition, and not an edit of a similar unit.
        base_texts = {unit.text for unit in base.units}
        pairing.keep_side(lambda number: side.units[number].text not in base_texts)
    if pairing.base_left and pairing.side_left:
        _match_edited(base, side, side_home, pairing)
    return matched


def _match_runs(
    base: ParsedNote, side: ParsedNote, side_home: Sequence[int], matched: list[int]
) -> None:
    """Match the equal runs at the beginning and at the end: nearly all units after a small change.

    Most diff programs trim the common prefix and suffix, too, before they search. From the
    beginning, a few units that were added, deleted or edited are skipped.
    """
    olds = _placed_texts(base, base.home)
    news = _placed_texts(side, side_home)
    start = _match_from_start(olds, news, matched)
    _match_from_end(olds, news, start, matched)


def _placed_texts(note: ParsedNote, home: Sequence[int]) -> list[_PlacedText]:
    texts = (unit.text for unit in note.units)
    return list(zip(home, texts, strict=True))


def _match_from_start(
    olds: Sequence[_PlacedText], news: Sequence[_PlacedText], matched: list[int]
) -> _Position:
    """Match the runs from the beginning, and return where they end."""
    old = new = 0
    while old < len(olds) and new < len(news):
        if olds[old] == news[new]:
            matched[new] = old
            old += 1
            new += 1
            continue
        position = _next_equal(olds, news, old, new)
        if position is None:
            break
        old, new = position
    return old, new


def _next_equal(
    olds: Sequence[_PlacedText], news: Sequence[_PlacedText], old: int, new: int
) -> _Position | None:
    """Return the next position at which both units are equal; None where none is near."""
    for skip_old, skip_new in STEPS:
        next_old = old + skip_old
        next_new = new + skip_new
        if next_old >= len(olds) or next_new >= len(news):
            continue
        if olds[next_old] == news[next_new]:
            return next_old, next_new
    return None


def _match_from_end(
    olds: Sequence[_PlacedText], news: Sequence[_PlacedText], start: _Position, matched: list[int]
) -> None:
    """Match the run at the end, which begins no earlier than `start`."""
    first_old, first_new = start
    old = len(olds)
    new = len(news)
    while old > first_old and new > first_new and olds[old - 1] == news[new - 1]:
        old -= 1
        new -= 1
        matched[new] = old


class _Candidates(NamedTuple):
    """Units of one section that may be versions of each other, with their normalised texts."""

    olds: dict[int, str]
    news: dict[int, str]


def _match_edited(
    base: ParsedNote, side: ParsedNote, side_home: Sequence[int], pairing: Pairing
) -> None:
    """Match units of the same section by normalised text, then by likeness of words."""
    base_texts = {number: normal(base.units[number].text) for number in pairing.base_left}
    side_texts = {number: normal(side.units[number].text) for number in pairing.side_left}

    def base_key(number: int) -> Hashable:
        text = base_texts[number]
        return (base.home[number], text) if text else None

    pairing.pair(base_key, lambda number: (side_home[number], side_texts[number]))
    groups: defaultdict[int, _Candidates] = defaultdict(lambda: _Candidates({}, {}))
    for number in pairing.base_left:
        groups[base.home[number]].olds[number] = base_texts[number]
    for number in pairing.side_left:
        groups[side_home[number]].news[number] = side_texts[number]
    for group in groups.values():
        pairing.take(best_pairs(_likes(base, side, pairing.side, group)))
    pairing.forget()


def _likes(
    base: ParsedNote, side: ParsedNote, matched: Sequence[int], group: _Candidates
) -> list[tuple[float, int, int]]:
    """Return the pairs of units that are alike enough, with their likeness."""
    old_words = {number: words_in(text) for number, text in group.olds.items()}
    new_words = {number: words_in(text) for number, text in group.news.items()}
    likes: list[tuple[float, int, int]] = []
    for old, new in candidates(old_words, new_words):
        if not _may_be_versions(base.units[old].kind, side.units[new].kind):
            continue
        like = likeness(old_words[old], new_words[new])
        if like >= LIKE:
            neighbours = _common_neighbours(matched, old, new, len(base.units))
            likes.append((like + neighbours * NEARER, old, new))
    return likes


def _common_neighbours(matched: Sequence[int], old: int, new: int, count: int) -> int:
    """Return how many neighbours two units have in common: 0 to 2. An edge is a neighbour."""
    before_is_common = new == old
    if new and old:
        before_is_common = matched[new - 1] == old - 1
    after = old + 1
    if new + 1 == len(matched):
        after_is_common = after == count
    else:
        after_is_common = matched[new + 1] == after
    return before_is_common + after_is_common


def _may_be_versions(old_kind: str, new_kind: str) -> bool:
    return old_kind == new_kind or {old_kind, new_kind} <= _TEXT_KINDS
