"""Which version did somebody have in the editor who saved this one? Told by what the versions have in common.

An editor that loaded a note before we wrote it, and saves after, knows nothing of our text: what it saved is to be
merged on top of the version it had loaded, and not to be taken for a deletion. Pure.
"""

from collections import Counter
from collections.abc import Iterable

MOST_PAIRS = 400
"""Lines that went, times lines that came, among which those are sought that were edited"""


def distance(one: bytes, other: bytes) -> int:
    """How many lines stand in one of the two and not in the other; a line that was edited counts once."""
    mine, its = _lines(one), _lines(other)
    gone, came = mine - its, its - mine
    return gone.total() + came.total() - _edited(list(gone), list(came))


def _edited(gone: list[bytes], came: list[bytes]) -> int:
    """How many of these lines became one of those; where it is many, that is not asked."""
    if not gone or not came or len(gone) * len(came) > MOST_PAIRS:
        return 0
    from vault_memory.markdown import LIKE, likeness, words_in  # only here: it costs 40 ms, and few saves need it

    words = {line: words_in(line.decode(errors="replace").casefold()) for line in (*gone, *came)}
    likes = [(likeness(words[old], words[new]), sorted((old, new))) for old in gone for new in came]
    paired: set[bytes] = set()
    for like, pair in sorted(likes, reverse=True):
        if like >= LIKE and paired.isdisjoint(pair):
            paired.update(pair)
    return len(paired) // 2


def nearest(saved: bytes, versions: Iterable[tuple[str, bytes]]) -> str | None:
    """The revision, of those given with the likeliest first, that the saved text was most likely made from."""
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
