"""Finds the stored versions that may be the common ancestor of a conflict copy and its note. Pure.

Two texts alone do not show their common ancestor, and the clock of another device proves nothing. So
each stored version counts as a possible base, unless the two texts speak against it:

- The present note and the copy are no base: a sync program makes a copy only where both sides
  changed.
- If the note had the text of the copy before, the base is older than that.
- The *foreign* text is the copy, or the note if it had the text of the copy before. If it shows
  nothing of what a later version changed, an earlier version is the base. Taking the later one would
  delete all that it had added.
- If both texts show all that a later version added and changed, the earlier version is not the base.

A text older than all stored versions is possible, too, until the oldest stored version is ruled out.
The author of the foreign text may never have seen the lines that it lacks.
"""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_BASES = 32
"""Possible bases that are compared; where there are more, a person decides"""

Version = tuple[str, bytes]
"""Revision and bytes"""


@dataclass(frozen=True, slots=True)
class Bases:
    """The possible common ancestors of a note and its copy."""

    versions: tuple[Version, ...] = ()
    """stored versions, the oldest first"""
    older: bytes | None = field(default=None, repr=False)
    """the least text of a base older than all stored versions; None where no such base is possible"""


def possible_bases(note: bytes, copy: bytes, versions: Sequence[Version]) -> Bases:
    """Returns the possible bases among the stored versions of a note, which are given newest first."""
    history = list(reversed(versions))
    texts = [raw for _, raw in history]
    foreign = copy
    if copy in texts:
        foreign = note
        history = history[: texts.index(copy)]
    candidates = [version for version in history if version[1] not in (note, copy)]
    if not candidates:
        return Bases()
    masks = _Masks()
    sides = (masks.of(note), masks.of(copy))
    candidate_masks = [masks.of(raw) for _, raw in candidates]
    visible = _visible(candidate_masks, masks.of(foreign))
    possible = _not_explained(visible, sides)
    bases = tuple(candidates[index] for index in possible)
    if 0 not in possible:
        return Bases(bases)
    oldest = candidates[0][1]
    older = _shared(oldest, foreign)
    return Bases(bases, None if older == oldest else older)


def lines_of(raw: bytes) -> Counter[bytes]:
    """Counts the lines of a text that are not blank, without line ends and trailing blanks."""
    text = raw.removeprefix(BOM_UTF8)
    counts = Counter(line.rstrip() for line in text.splitlines())
    del counts[b""]
    return counts


class _Masks:
    """Texts as sets of lines, each set an integer with one bit for each line and occurrence."""

    def __init__(self) -> None:
        self._bits: dict[tuple[bytes, int], int] = {}

    def of(self, raw: bytes) -> int:
        """Returns the set of the lines of a text."""
        mask = 0
        for line, count in lines_of(raw).items():
            for occurrence in range(count):
                bit = self._bits.setdefault((line, occurrence), len(self._bits))
                mask |= 1 << bit
        return mask


def _visible(masks: Sequence[int], foreign: int) -> dict[int, int]:
    """Returns the versions by index, without those of whose changes the foreign text shows nothing."""
    visible: dict[int, int] = {}
    for index, mask in enumerate(masks):
        if not any(_is_between(earlier, mask, foreign) for earlier in visible.values()):
            visible[index] = mask
    return visible


def _not_explained(visible: dict[int, int], sides: tuple[int, int]) -> list[int]:
    """Returns the indexes of the versions that no later version rules out as the base."""
    remaining: list[int] = []
    for index, mask in visible.items():
        later_masks = [other for later, other in visible.items() if later > index]
        if not any(_explains(later, mask, sides) for later in later_masks):
            remaining.append(index)
    return remaining


def _explains(later: int, earlier: int, sides: tuple[int, int]) -> bool:
    """Whether both sides show all that the later version changed of the earlier one.

    Missing lines prove nothing: a line that the copy's device changed is missing there, too.
    """
    added = later & ~earlier
    if not added:
        return False
    return all(_is_between(later, earlier, side) for side in sides)


def _is_between(middle: int, first: int, second: int) -> bool:
    """Whether a text has all lines that two texts share, and none that both lack."""
    lacks_shared = first & second & ~middle
    has_foreign = middle & ~(first | second)
    return not lacks_shared and not has_foreign


def _shared(version: bytes, foreign: bytes) -> bytes:
    """Returns a version without the lines that the foreign text lacks."""
    remaining = lines_of(foreign)
    shared: list[bytes] = []
    for line in version.splitlines(keepends=True):
        text = line.removeprefix(BOM_UTF8).rstrip()
        if text and not remaining[text]:
            continue
        remaining[text] -= 1
        shared.append(line)
    return b"".join(shared)
