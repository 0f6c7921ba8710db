"""Checks a merge before it is used, on lines alone: nothing is lost, and nothing is there twice."""

import re
from collections import Counter
from collections.abc import Iterable

from vault_memory.markdown.items import normalised

MARK = re.compile(rb" ?\xe2\x9a\xa0 \(other device, [^()\r\n]*\)[ \t]*$")

_marker = re.compile(
    rb"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)(?:\[[ xX-]\](?:[ \t]+|$))?"
).match

Counts = Counter[bytes]


def lines_of(raw: bytes) -> Counts:
    """Count the lines of a note, without line ends and BOM."""
    return Counter(raw.removeprefix(b"\xef\xbb\xbf").splitlines())


def words_of(line: bytes) -> bytes:
    """Return the words of a line, without its marker, its box and the mark of another device."""
    line = MARK.sub(b"", line.strip(b" \t"))
    if b": " in line:
        line = line.removeprefix(b"# ")
    marker = _marker(line)
    if marker:
        line = line[marker.end() :]
    return b" ".join(line.split())


def nothing_is_lost(
    base: bytes, ours: bytes, theirs: bytes, result: bytes, conflicts: Iterable[bytes]
) -> bool:
    """Return whether each line is in the result often enough, or in a conflict.

    A line may also be folded into one with the same normalised text.
    """
    versions = [lines_of(raw) for raw in (base, ours, theirs, result)]
    unchanged = _unchanged(*versions)
    cache: dict[bytes, bytes] = {}
    base_words, our_words, their_words, result_words = [
        _count_words(version, cache, without=unchanged) for version in versions
    ]
    for raw in conflicts:
        result_words.update(_count_words(lines_of(raw), cache))
    lost = [
        words
        for words in our_words.keys() | their_words.keys()
        if words
        and result_words[words] < _least(base_words[words], our_words[words], their_words[words])
    ]
    if not lost:
        return True
    normal = set(map(_normal, result_words))
    normal.update(_normal(words_of(line)) for line in unchanged)
    return normal.issuperset(map(_normal, lost))


def _unchanged(base: Counts, ours: Counts, theirs: Counts, result: Counts) -> set[bytes]:
    """Return the lines that all versions have equally often, which need no check."""
    return {
        line
        for line, count in result.items()
        if base.get(line) == count and ours.get(line) == count == theirs.get(line)
    }


def _least(base: int, ours: int, theirs: int) -> int:
    """Return how often a line must be there: both deletions and the larger addition count."""
    removed = max(base - ours, 0) + max(base - theirs, 0)
    added = max(ours - base, theirs - base, 0)
    return base - removed + added


def _normal(words: bytes) -> str:
    return normalised(words.decode("utf-8", "replace"))


def _count_words(
    lines: Counts, cache: dict[bytes, bytes], without: frozenset[bytes] | set[bytes] = frozenset()
) -> Counts:
    """Count the words of lines. `cache` has the words of each line that was seen."""
    counts: Counts = Counter()
    for line, count in lines.items():
        if line in without:
            continue
        words = cache.get(line)
        if words is None:
            words = cache[line] = words_of(line)
        counts[words] += count
    return counts


def nothing_is_twice(
    ours: Iterable[bytes], theirs: Iterable[bytes], result: Iterable[bytes]
) -> bool:
    """Return whether no item is there more often than in the version that has it most."""
    our_counts, their_counts = Counter(ours), Counter(theirs)
    return all(
        count == 1 or count <= max(our_counts[text], their_counts[text])
        for text, count in Counter(result).items()
    )


def is_no_larger(ours: bytes, theirs: bytes, result: bytes, allowance: int) -> bool:
    """Return whether the result has at most the bytes of both and the marks, without line ends."""
    return _size(result) <= _size(ours) + _size(theirs) + allowance


def _size(raw: bytes) -> int:
    return sum(map(len, raw.splitlines()))
