"""What must be true of a merge before anybody sees it, checked on lines alone: nothing lost, nothing twice."""

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
    """The lines that say something, without line ends."""
    return Counter(raw.removeprefix(b"\xef\xbb\xbf").splitlines())


def words_of(line: bytes) -> bytes:
    """A line without marker, box, blanks around, and without the mark of another device's line."""
    line = MARK.sub(b"", line.strip(b" \t"))
    line = line.removeprefix(b"# ") if b": " in line else line
    marker = _marker(line)
    return b" ".join((line[marker.end() :] if marker else line).split())


def nothing_is_lost(
    base: bytes, ours: bytes, theirs: bytes, result: bytes, conflicts: Iterable[bytes]
) -> bool:
    """Every line is in the result as often as it must be, or in a conflict, or folded into one that says the same."""
    versions = [lines_of(raw) for raw in (base, ours, theirs, result)]
    alike = _alike(*versions)
    known: dict[bytes, bytes] = {}
    b, o, t, r = (
        _by_words(
            ((line, n) for line, n in version.items() if line not in alike), known
        )
        for version in versions
    )
    for raw in conflicts:
        r.update(_by_words(lines_of(raw).items(), known))
    lacking = [
        words
        for words in o.keys() | t.keys()
        if words and r[words] < _least(b[words], o[words], t[words])
    ]
    if not lacking:
        return True
    said = {_said(words) for words in r} | {_said(words_of(line)) for line in alike}
    return all(_said(words) in said for words in lacking)


def _alike(base: Counts, ours: Counts, theirs: Counts, result: Counts) -> set[bytes]:
    """The lines that all have equally often, of which nothing is to be asked."""
    return {
        line
        for line, n in result.items()
        if base.get(line) == n and ours.get(line) == n == theirs.get(line)
    }


def _least(base: int, ours: int, theirs: int) -> int:
    """How often something must be there: what either took away is gone, what either added is there."""
    return (
        base
        - max(base - ours, 0)
        - max(base - theirs, 0)
        + max(ours - base, theirs - base, 0)
    )


def _said(words: bytes) -> str:
    return normalised(words.decode("utf-8", "replace"))


def _by_words(lines: Iterable[tuple[bytes, int]], known: dict[bytes, bytes]) -> Counts:
    found: Counts = Counter()
    for line, count in lines:
        words = known.get(line)
        if words is None:
            words = known[line] = words_of(line)
        found[words] += count
    return found


def nothing_is_twice(
    ours: Iterable[bytes], theirs: Iterable[bytes], result: Iterable[bytes]
) -> bool:
    """No item is there more often than in the version that has it most."""
    o, t = Counter(ours), Counter(theirs)
    return all(
        count == 1 or count <= max(o[text], t[text])
        for text, count in Counter(result).items()
    )


def is_no_larger(ours: bytes, theirs: bytes, result: bytes, allowance: int) -> bool:
    """The result is at most both together, line ends aside, and what the marks take."""
    return _size(result) <= _size(ours) + _size(theirs) + allowance


def _size(raw: bytes) -> int:
    return sum(map(len, raw.splitlines()))
