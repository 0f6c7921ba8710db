"""Which version did somebody have in the editor who saved this one? Told by what the versions have in common.

An editor that loaded a note before we wrote it, and saves after, knows nothing of our text: what it saved is to be
merged on top of the version it had loaded, and not to be taken for a deletion. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from vault_memory.lazy import lazy_module

TYPE_CHECKING = False  # as in `typing`, which takes time to load
if TYPE_CHECKING:
    from vault_memory.markdown.merging import similarity
else:
    similarity = lazy_module("vault_memory.markdown.merging.similarity")

MOST_PAIRS = 400
"""Lines that went, times lines that came, among which those are sought that were edited"""


def distances(saved: bytes, versions: Iterable[bytes]) -> list[int]:
    """How many lines stand in the saved text and not in each of the versions, or the other way round.

    A line that was edited counts once; where that cannot make a version the nearest, it is not looked for.
    """
    mine = _lines(saved)
    found: list[int] = []
    words: dict[bytes, Counter[str]] = {}
    for its in map(_lines, versions):
        gone, came = list(its - mine), list(mine - its)
        far = (its - mine).total() + (mine - its).total()
        if gone and came and far - min(len(gone), len(came)) <= min(found, default=far):
            far -= _edited(gone, came, words)
        found.append(far)
    return found


def nearest(saved: bytes, versions: Iterable[tuple[str, bytes]]) -> str | None:
    """The revision, of those given with the newest first, that the saved text was most likely made from."""
    known = list(versions)
    far = distances(saved, (raw for _, raw in known))
    return known[far.index(min(far))][0] if far else None


def contains_new_lines(
    saved: bytes, fresh: Iterable[bytes], older: Iterable[bytes]
) -> bool:
    """Whether a line was saved that stands in fresh versions alone, or was made of one: then one of them was read."""
    mine, new, old = set(_lines(saved)), _all_lines(fresh), _all_lines(older)
    only, typed, lost = new - old, mine - new - old, old - mine
    if only & mine or not only:
        return bool(only)
    if len(typed) * (len(only) + len(lost)) > MOST_PAIRS:
        return False
    olds, news = [_text(line) for line in lost], [_text(line) for line in only]
    return any(
        similarity.made_of(_text(line), [*olds, *news]) in news for line in typed
    )


def _edited(
    gone: Sequence[bytes], came: Sequence[bytes], words: dict[bytes, Counter[str]]
) -> int:
    """How many of these lines became one of those; where it is many, that is not asked."""
    if len(gone) * len(came) > MOST_PAIRS:
        return 0
    for line in (*gone, *came):
        if line not in words:
            words[line] = similarity.words_in(_text(line))
    likes = [
        (similarity.likeness(words[old], words[new]), sorted((old, new)))
        for old in gone
        for new in came
    ]
    paired: set[bytes] = set()
    for like, pair in sorted(likes, reverse=True):
        if like >= similarity.LIKE and paired.isdisjoint(pair):
            paired.update(pair)
    return len(paired) // 2


def _all_lines(versions: Iterable[bytes]) -> set[bytes]:
    return set[bytes]().union(*map(_lines, versions))


def _text(line: bytes) -> str:
    return line.decode(errors="replace").casefold()


def _lines(raw: bytes) -> Counter[bytes]:
    return Counter(line.strip() for line in raw.splitlines() if line.strip())
