"""Finds the kept versions from which a conflict copy and its note may both have been made. Pure.

Two texts alone do not tell their common version, and the clock of another device proves nothing. So
every kept version counts as a possible base, unless the two texts themselves speak against it:

- The note and the copy as they stand are no base: a sync program makes a copy only where both sides
  changed.
- Where the copy's text once stood under the note's name, the base is older than that.
- The *foreign* text (the copy, or the note where the copy's text stood here) shows nothing of what a
  later version changed: then an earlier version is the base. Taking the later one would delete all
  that it had added.
- Both texts show all that a later version added and changed: then the earlier version is not the base.

A text that is older than all kept versions is possible as well, until the oldest kept version is ruled
out. Whoever made the foreign text may never have seen the lines that it lacks.
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
    """The texts that a note and a copy of it may both have been made from."""

    versions: tuple[Version, ...] = ()
    """kept versions, the oldest first"""
    older: bytes | None = field(default=None, repr=False)
    """the least that a text older than all kept versions had; None where no such text is possible"""


def possible_bases(note: bytes, copy: bytes, versions: Sequence[Version]) -> Bases:
    """The possible bases among the note's kept versions, which are given with the newest first."""
    history = list(reversed(versions))
    stood_here = next(
        (index for index, (_, raw) in enumerate(history) if raw == copy), None
    )
    foreign = copy if stood_here is None else note
    candidates = [
        version for version in history[:stood_here] if version[1] not in (note, copy)
    ]
    if not candidates:
        return Bases()
    masks = _Masks()
    sides = masks.of(note), masks.of(copy)
    visible = _visible([masks.of(raw) for _, raw in candidates], masks.of(foreign))
    possible = {
        index: mask
        for index, mask in visible.items()
        if not any(
            _explains(other, mask, sides)
            for later, other in visible.items()
            if later > index
        )
    }
    oldest = candidates[0][1]
    older = _shared(oldest, foreign) if 0 in possible else None
    return Bases(
        tuple(candidates[index] for index in possible),
        None if older == oldest else older,
    )


def lines_of(raw: bytes) -> Counter[bytes]:
    """Counts the lines of a text that are not blank, without line ends and trailing blanks."""
    lines = (line.rstrip() for line in raw.removeprefix(BOM_UTF8).splitlines())
    return Counter(line for line in lines if line)


class _Masks:
    """Texts as sets of lines, each set an integer with one bit for each line and occurrence."""

    def __init__(self) -> None:
        self._bits: dict[tuple[bytes, int], int] = {}

    def of(self, raw: bytes) -> int:
        mask = 0
        for line, count in lines_of(raw).items():
            for occurrence in range(count):
                mask |= 1 << self._bits.setdefault((line, occurrence), len(self._bits))
        return mask


def _visible(masks: Sequence[int], foreign: int) -> dict[int, int]:
    """The versions by index, without those of whose changes the foreign text shows nothing."""
    visible: dict[int, int] = {}
    for index, mask in enumerate(masks):
        if not any(_is_between(earlier, mask, foreign) for earlier in visible.values()):
            visible[index] = mask
    return visible


def _explains(later: int, earlier: int, sides: tuple[int, int]) -> bool:
    """Whether both sides show all that the later version changed of the earlier one.

    Lines that are gone prove nothing: a line that the copy's device changed is gone there, too.
    """
    return later & ~earlier != 0 and all(
        _is_between(later, earlier, side) for side in sides
    )


def _is_between(middle: int, one: int, other: int) -> bool:
    """Whether a text has all lines that two texts share, and none that both lack."""
    return one & other & ~middle == 0 and middle & ~(one | other) == 0


def _shared(version: bytes, foreign: bytes) -> bytes:
    """A version without the lines that the foreign text lacks."""
    left = lines_of(foreign)
    shared = []
    for line in version.splitlines(keepends=True):
        key = line.removeprefix(BOM_UTF8).rstrip()
        if key and not left[key]:
            continue
        left[key] -= 1
        shared.append(line)
    return b"".join(shared)
