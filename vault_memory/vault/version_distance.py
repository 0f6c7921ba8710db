"""Infers which version an editor had loaded when it saved, from the lines that versions share. Pure.

An editor that loaded a note before our write, and saves after it, knows nothing of our text. Its
save must be merged on top of the version that it had loaded, and is no deletion of our lines.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from vault_memory.markdown.merging import similarity

# `typing` has the same name, but takes time to load.

MOST_PAIRS = 400
"""Removed lines times added lines, up to which edited lines are looked for"""


def distances(saved: bytes, versions: Iterable[bytes]) -> list[int]:
    """Returns for each version how many lines only it or only the saved text has.

    An edited line counts once. Edits are looked for only where they can make a version the nearest.
    """
    saved_lines = _lines(saved)
    counts: list[int] = []
    words: dict[bytes, Counter[str]] = {}
    for version_lines in map(_lines, versions):
        removed = version_lines - saved_lines
        added = saved_lines - version_lines
        count = removed.total() + added.total()
        most_edits = min(len(removed), len(added))
        if most_edits and count - most_edits <= min(counts, default=count):
            count -= _count_edits(list(removed), list(added), words)
        counts.append(count)
    return counts


def nearest(saved: bytes, versions: Iterable[tuple[str, bytes]]) -> str | None:
    """Returns the revision that the saved text was most likely made from.

    `versions` are (revision, bytes), the newest first.
    """
    candidates = list(versions)
    counts = distances(saved, (raw for _, raw in candidates))
    if not counts:
        return None
    nearest_index = counts.index(min(counts))
    return candidates[nearest_index][0]


def contains_new_lines(saved: bytes, newer: Iterable[bytes], older: Iterable[bytes]) -> bool:
    """Whether the saved text has a line that only the versions `newer` have, or an edit of one.

    If so, the editor had loaded one of those versions.
    """
    saved_lines = set(_lines(saved))
    new = _all_lines(newer)
    old = _all_lines(older)
    only_new = new - old
    if not only_new:
        return False
    if only_new & saved_lines:
        return True
    typed = saved_lines - new - old
    lost = old - saved_lines
    if len(typed) * (len(only_new) + len(lost)) > MOST_PAIRS:
        return False
    # A typed line may be an edit of an old line as well: then it proves nothing.
    new_texts = [_text(line) for line in only_new]
    texts = [*(_text(line) for line in lost), *new_texts]
    return any(similarity.made_of(_text(line), texts) in new_texts for line in typed)


def _count_edits(
    removed: Sequence[bytes], added: Sequence[bytes], words: dict[bytes, Counter[str]]
) -> int:
    """Returns how many removed lines became an added line; 0 where the lines are too many."""
    if len(removed) * len(added) > MOST_PAIRS:
        return 0
    for line in (*removed, *added):
        if line not in words:
            words[line] = similarity.words_in(_text(line))
    pairs = [
        (similarity.likeness(words[old], words[new]), sorted((old, new)))
        for old in removed
        for new in added
    ]
    paired: set[bytes] = set()
    for likeness, pair in sorted(pairs, reverse=True):
        if likeness >= similarity.LIKE and paired.isdisjoint(pair):
            paired.update(pair)
    return len(paired) // 2


def _all_lines(versions: Iterable[bytes]) -> set[bytes]:
    return set[bytes]().union(*map(_lines, versions))


def _text(line: bytes) -> str:
    return line.decode(errors="replace").casefold()


def _lines(raw: bytes) -> Counter[bytes]:
    return Counter(line.strip() for line in raw.splitlines() if line.strip())
