"""Merges front matter key by key. A value is its bytes; YAML is not parsed.

Keys that only one side has are put among those that the other side has ordered.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

_edge = re.compile(rb"---[ \t]*").fullmatch
_end_edge = re.compile(rb"(?:---|\.\.\.)[ \t]*").fullmatch
_key = re.compile(
    rb"(\"[^\"]*\"|'[^']*'|[^\s:#\-\[\]{},&*!|>%@`\"'][^:]*?)[ \t]*:(?:[ \t]|$)"
).match
_CONTINUATION = (b"#", b" ", b"\t", b"-")
"""First bytes of a line that belongs to the key above it"""
_LEADING = (b"#", b" ", b"\t")
"""First bytes of a line above the first key"""


class Front(NamedTuple):
    """The front matter of a note."""

    end: int
    """The line after it"""
    edges: tuple[bytes, bytes]
    """Its first and its last line"""
    values: dict[bytes, bytes]
    """The lines of each key; lines above the first key have the empty key"""


class FrontConflict(NamedTuple):
    """Two values for one key."""

    kept: bytes
    dropped: bytes


class FrontMerged(NamedTuple):
    """The merged front matter without its last line end; None for no front matter."""

    text: bytes | None
    conflicts: list[FrontConflict]


def read_front(lines: list[bytes]) -> Front | None:
    """Return the front matter at the top; None where there is none, or it is not keys and values."""
    if not lines or not _edge(lines[0]):
        return None
    reader = _ValueReader()
    for number in range(1, len(lines)):
        line = lines[number]
        if _end_edge(line):
            return Front(number + 1, (lines[0], line), reader.values())
        if not reader.add(line):
            return None
    return None


class _ValueReader:
    """Collects the lines of each key."""

    def __init__(self) -> None:
        self._key = b""
        self._rows: dict[bytes, list[bytes]] = {}

    def add(self, line: bytes) -> bool:
        """Add a line; False where it is not front matter that can be merged by key."""
        match = _key(line)
        if match:
            self._key = match[1]
            # Fault: merging by key would lose one of two lines with the same key.
            if self._key in self._rows:
                return False
        elif line.strip():
            allowed = _CONTINUATION if self._key else _LEADING
            if not line.startswith(allowed):
                return False
        self._rows.setdefault(self._key, []).append(line)
        return True

    def values(self) -> dict[bytes, bytes]:
        """Return the lines of each key as one text."""
        return {key: b"\n".join(rows) for key, rows in self._rows.items()}


def merge_front(
    base: Front | None, ours: Front | None, theirs: Front | None, mark: bytes | None
) -> FrontMerged:
    """Merge key by key. A key that both changed keeps their value, and ours is a conflict.

    With a `mark` our value also stays in the note, as a comment with that mark.
    """
    base_values = base.values if base else {}
    our_values = ours.values if ours else {}
    their_values = theirs.values if theirs else {}
    merged: dict[bytes, bytes] = {}
    conflicts: list[FrontConflict] = []
    for key in {**their_values, **our_values}:
        versions = (base_values.get(key), our_values.get(key), their_values.get(key))
        value = _merge_value(*versions)
        if value is None:
            continue
        conflict = _conflict(*versions)
        if conflict is not None:
            conflicts.append(conflict)
            if mark is not None:
                value += _commented(conflict.dropped, mark)
        merged[key] = value
    edges = _edges(base, ours, theirs, is_empty=not merged)
    if edges is None:
        return FrontMerged(None, conflicts)
    order = interleave(
        [key for key in their_values if key in merged],
        [key for key in our_values if key in merged],
        lambda mine, waiting: True,
    )
    rows = [edges[0], *(merged[key] for key in order), edges[1]]
    return FrontMerged(b"\n".join(rows), conflicts)


def _merge_value(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return the value of a key: the one that changed; theirs where both did."""
    if ours in (base, theirs):
        return theirs
    # Fault: one side deleted the key, and the other changed it. The change stays.
    if theirs in (base, None):
        return ours
    return theirs


def _conflict(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> FrontConflict | None:
    """Return the conflict of two values that both sides wrote."""
    if ours is None or theirs is None:
        return None
    if ours in (base, theirs) or theirs == base:
        return None
    return FrontConflict(theirs, ours)


def _commented(value: bytes, mark: bytes) -> bytes:
    lines = value.split(b"\n")
    return b"".join(b"\n# %s%s" % (line, mark) for line in lines)


def _edges(
    base: Front | None, ours: Front | None, theirs: Front | None, *, is_empty: bool
) -> tuple[bytes, bytes] | None:
    """Return the edge lines; None where the result has no front matter."""
    # One side deleted the front matter, and no key is left.
    if is_empty and base and not (ours and theirs):
        return None
    front = theirs or ours
    return front.edges if front else None


Key = TypeVar("Key", bound=Hashable)


def interleave(
    lead: Sequence[Key],
    follower: Sequence[Key],
    gives_way: Callable[[Key, Key], bool],
    earlier: Callable[[Key, Key], bool] = lambda waiting, mine: False,
    *,
    lead_first: bool = True,
) -> list[Key]:
    """Return all of `lead` in its order, with the keys that only `follower` has.

    Such a key comes behind the key that it follows in `follower`. Where both have new keys at one
    position, those of the lead come first, unless `lead_first` is false. `gives_way(mine, waiting)`
    tells whether a waiting key lets one of the lead pass; a key that is `earlier(waiting, mine)`
    never waits for it. Keys at the end of `follower` come behind all keys that both have.
    """
    positions = {key: position for position, key in enumerate(lead)}
    waiting = _keys_behind(positions, follower)
    if not waiting:
        return list(lead)
    shared = positions.keys() & set(follower)
    result: list[Key] = []
    queue = list(waiting.get(-1, ()))
    for position, key in enumerate(lead):
        if queue:
            lets_pass = lead_first and key not in shared and gives_way(key, queue[0])
            if not lets_pass:
                result += queue
                queue = []
            while queue and earlier(queue[0], key):
                result.append(queue.pop(0))
        result.append(key)
        queue += waiting.get(position, ())
    return result + queue


def _keys_behind(positions: dict[Key, int], follower: Sequence[Key]) -> dict[int, list[Key]]:
    """Return the keys that only `follower` has, by the position in the lead that they follow."""
    waiting: dict[int, list[Key]] = {}
    position = last = -1
    run: list[Key] = []
    for key in follower:
        if key not in positions:
            run.append(key)
            continue
        if run:
            waiting.setdefault(position, []).extend(run)
            run = []
        position = positions[key]
        last = max(last, position)
    if run:
        waiting.setdefault(last, []).extend(run)
    return waiting
