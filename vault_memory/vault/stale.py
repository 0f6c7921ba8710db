"""Which version did somebody have in the editor who saved this one? Told by what the versions have in common.

An editor that loaded a note before we wrote it, and saves after, knows nothing of our text: what it saved is to be
merged on top of the version it had loaded, and not to be taken for a deletion. Pure.
"""

from collections import Counter
from collections.abc import Iterable


def distance(one: bytes, other: bytes) -> int:
    """How many lines stand in one of the two and not in the other."""
    mine, its = _lines(one), _lines(other)
    return sum(((mine - its) + (its - mine)).values())


def nearest(saved: bytes, versions: Iterable[tuple[str, bytes]]) -> str | None:
    """The revision, of those given with the newest first, that the saved text was most likely made from."""
    best: tuple[int, str] | None = None
    for revision, raw in versions:
        far = distance(raw, saved)
        if best is None or far < best[0]:
            best = far, revision
    return best and best[1]


def shows(saved: bytes, fresh: Iterable[bytes], older: Iterable[bytes]) -> bool:
    """Whether a line was saved that stands in fresh versions alone: then one of them was read."""
    known = set[bytes]().union(*map(_lines, older))
    return any(line not in known for raw in fresh for line in _lines(raw) & _lines(saved))


def _lines(raw: bytes) -> Counter[bytes]:
    return Counter(line.strip() for line in raw.splitlines() if line.strip())
