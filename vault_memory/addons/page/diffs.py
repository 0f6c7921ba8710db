"""Compares two texts line by line, and word by word within a changed line, for a person to read.

Any two texts are compared in bounded time. Where an exact answer would take too long, the old
lines are removed and the new ones added. No HTML is made here, and hidden letters are unchanged.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import NamedTuple

from vault_memory.markdown.merging.line_merge import hunks

__all__ = ["DiffLine", "lines"]

CONTEXT = 3
MOST_LINES = 2000
"""Lines of a diff; a last line says how many more there are"""
Part = tuple[str, bool]
"""A text, and whether it is a changed word within its line"""
Line = tuple[Part, ...]
MOST_LETTERS = 200_000
"""Letters of changed lines in which changed words are marked"""
LONGEST_LINE = 5000
"""Letters of a line in which changed words are marked"""
NEAREST = 8
"""Added lines that a removed line is compared with"""
LEAST_LIKENESS = 0.25
"""Of two versions of a line, as a share of the letters in their words"""
NO_LINE_END = "⟨no line end⟩"

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Scripts without blanks between words"""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|\s+|.", re.DOTALL)


# --- Changed words ---


class WordMarker:
    """Marks changed words in the changed lines of one diff, as long as that is quick."""

    def __init__(self) -> None:
        self._letters = 0

    def marked(
        self, old_lines: Sequence[str], new_lines: Sequence[str]
    ) -> tuple[list[Line], list[Line]]:
        """Return the removed and the added lines of one block, in parts."""
        removed = [unmarked(line) for line in old_lines]
        added = [unmarked(line) for line in new_lines]
        for old, new in self._versions(old_lines, new_lines):
            removed[old], added[new] = _compared(old_lines[old], new_lines[new])
        return removed, added

    def _versions(
        self, old_lines: Sequence[str], new_lines: Sequence[str]
    ) -> Iterator[tuple[int, int]]:
        """Yield the lines that are versions of each other, in order."""
        next_new = 0
        for old_index, old in enumerate(old_lines):
            nearest = new_lines[next_new : next_new + NEAREST]
            for new_index, new in enumerate(nearest, next_new):
                if self._is_version(old, new):
                    yield old_index, new_index
                    next_new = new_index + 1
                    break

    def _is_version(self, old: str, new: str) -> bool:
        # Lines that are compared in vain count too.
        letters = len(old) + len(new)
        self._letters += letters
        # Fault: a note can be one line of a hundred thousand words.
        if letters > 2 * LONGEST_LINE or self._letters > MOST_LETTERS:
            return False
        return _likeness(old, new) >= LEAST_LIKENESS


def _likeness(old: str, new: str) -> float:
    """Return the share of letters in words that both lines have."""
    old_words = set(_WORD.findall(old))
    new_words = set(_WORD.findall(new))
    # Blank lines differ in their blanks alone.
    if not old_words and not new_words:
        return 1.0
    common = "".join(old_words & new_words)
    either = "".join(old_words | new_words)
    return len(common) / len(either)


def _split_end(line: str) -> tuple[str, str]:
    """Return a line and its line end."""
    text = line.removesuffix("\n").removesuffix("\r")
    return text, line[len(text) :]


def _line_end(end: str) -> Line:
    """Return what shows a line end that differs. A carriage return becomes a mark later."""
    if "\n" not in end:
        return ((NO_LINE_END, True),)
    if "\r" in end:
        return (("\r", True),)
    return ()


def _compared(old: str, new: str) -> tuple[Line, Line]:
    """Return a changed line before and after, in parts."""
    old_text, old_end = _split_end(old)
    new_text, new_end = _split_end(new)
    old_tokens = _TOKEN.findall(old_text)
    new_tokens = _TOKEN.findall(new_text)
    changed = hunks(old_tokens, new_tokens)
    old_line = _marked(old_tokens, [range(hunk.first, hunk.end) for hunk in changed])
    new_line = _marked(new_tokens, [range(hunk.side_first, hunk.side_end) for hunk in changed])
    if old_end != new_end:
        old_line += _line_end(old_end)
        new_line += _line_end(new_end)
    return old_line, new_line


def _marked(tokens: Sequence[str], changes: Sequence[range]) -> Line:
    """Return tokens joined to parts, each equal or changed."""
    indexes = set(chain.from_iterable(changes))
    changed = [index in indexes for index in range(len(tokens))]
    # A blank between two changed words belongs to them.
    for index in range(1, len(tokens) - 1):
        if tokens[index].isspace() and changed[index - 1] and changed[index + 1]:
            changed[index] = True
    runs = groupby(zip(tokens, changed, strict=True), key=itemgetter(1))
    return tuple(("".join(token for token, _ in run), flag) for flag, run in runs)


def unmarked(line: str) -> Line:
    """Return a line as one part, without its line end."""
    return ((line.rstrip("\r\n"), False),)


# --- The comparison ---


class DiffLine(NamedTuple):
    """One line of a diff."""

    word: str
    """`added`, `removed`, `same`, or `place` for words about lines that are left out"""
    parts: Line

    @property
    def text(self) -> str:
        """The whole line."""
        return "".join(text for text, _ in self.parts)


def lines(old: str, new: str, context: int = CONTEXT) -> list[DiffLine]:
    """Return the changed lines with equal lines around them; nothing for equal texts."""
    if old == new:
        return []
    texts = _Texts(_lines_of(old), _lines_of(new))
    return _first_lines(_diff(texts, context, WordMarker()))


def _lines_of(text: str) -> list[str]:
    """Return the lines with their line feed. No other letter ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


# --- Blocks of lines --------------------------------------------------------------------------


class _Texts(NamedTuple):
    """Two texts as lines."""

    old: Sequence[str]
    new: Sequence[str]


class _Block(NamedTuple):
    """Lines that are equal, or that differ, by their indexes in both texts."""

    are_equal: bool
    old: range
    new: range


def _blocks(texts: _Texts) -> Iterator[_Block]:
    """Yield all blocks in order, by turns equal and different."""
    old_end = new_end = 0
    for first, end, new_first, new_last in hunks(texts.old, texts.new):
        if first > old_end:
            yield _Block(True, range(old_end, first), range(new_end, new_first))
        old_end, new_end = end, new_last
        yield _Block(False, range(first, old_end), range(new_first, new_end))
    if old_end < len(texts.old):
        yield _Block(True, range(old_end, len(texts.old)), range(new_end, len(texts.new)))


def _diff(texts: _Texts, context: int, marker: WordMarker) -> Iterator[DiffLine]:
    """Yield the lines that differ, and so many equal lines before and after them."""
    blocks = list(_blocks(texts))
    for number, block in enumerate(blocks):
        if not block.are_equal:
            yield from _changed(texts, block, marker)
            continue
        first = context if number else 0
        is_last = number == len(blocks) - 1
        last = 0 if is_last else context
        yield from _shortened(texts, block, first, last)


def _changed(texts: _Texts, block: _Block, marker: WordMarker) -> Iterator[DiffLine]:
    """Yield the removed lines, then the added ones."""
    old_lines = texts.old[block.old.start : block.old.stop]
    new_lines = texts.new[block.new.start : block.new.stop]
    removed, added = marker.marked(old_lines, new_lines)
    for line in removed:
        yield DiffLine("removed", line)
    for line in added:
        yield DiffLine("added", line)


def _shortened(texts: _Texts, block: _Block, first: int, last: int) -> Iterator[DiffLine]:
    """Yield the first and the last lines of an equal block, with a gap between them."""
    count = len(block.new)
    hidden = count - first - last
    # A single line is as short as a gap.
    if hidden < 2:
        yield from _same(texts, block, range(count))
        return
    yield from _same(texts, block, range(first))
    yield _gap(f"{hidden} equal lines")
    yield from _same(texts, block, range(count - last, count))


def _same(texts: _Texts, block: _Block, offsets: range) -> Iterator[DiffLine]:
    """Yield equal lines of a block."""
    for offset in offsets:
        yield DiffLine("same", unmarked(texts.new[block.new[offset]]))


def _gap(words: str) -> DiffLine:
    return DiffLine("place", ((words, False),))


def _first_lines(rows: Iterator[DiffLine]) -> list[DiffLine]:
    """Return as many lines as a person can read."""
    first_rows = list(islice(rows, MOST_LINES))
    counts = Counter(row.word for row in rows)
    more = counts["added"] + counts["removed"]
    if more:
        end = _gap(f"{more} more changed lines are not shown")
        first_rows.append(end)
    return first_rows
