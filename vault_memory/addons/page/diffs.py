"""Compares two texts line by line, and word by word within a changed line, for a person to read.

Any two texts are compared in bounded time. Where an exact answer would take too long, the old
lines are removed and the new ones added. No HTML is made here, and hidden letters are unchanged.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, groupby
from typing import NamedTuple

from vault_memory.markdown.merging.line_merge import hunks
from vault_memory.markdown.merging.similarity import likeness, words_in
from vault_memory.rules.edits.unified_diff import hunks_of

__all__ = ["DiffLine", "lines", "recorded"]

CONTEXT = 3
MOST_LINES = 2000
"""Lines of a diff; a last line says how many more there are"""
MOST_SHOWN = 1_000_000
"""Letters of a diff"""
MOST_LETTERS = 100_000
"""Letters of changed lines; in a diff with more of them no word is marked"""
NEAREST = 8
"""Added lines that a removed line is compared with"""
LEAST_LIKENESS = 0.25
"""Of two versions of a line, as a share of their words"""
NO_LINE_END = "⟨no line end⟩"
Row = tuple[str, str]
"""What became of a line, and the line with its end"""
Line = tuple[tuple[str, bool], ...]
"""The parts of a line: a text, and whether it is a changed word"""

_WORDS = {b"-": "removed", b"+": "added", b" ": "same"}
_CHANGED = frozenset({"removed", "added"})
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Scripts without blanks between words"""
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\S\r\n]+|\r?\n|.", re.DOTALL)


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
    rows = list(_compare(_lines_of(old), _lines_of(new), context))
    return _first_lines(rows, MOST_LINES, MOST_SHOWN)


def recorded(diff: bytes, lines: int = MOST_LINES, letters: int = MOST_SHOWN) -> list[DiffLine]:
    """Return the first lines of a unified diff."""
    return _first_lines(list(_rows_of(diff)), lines, letters)


def _lines_of(text: str) -> list[str]:
    """Return the lines with their line feed. No other letter ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _compare(old: Sequence[str], new: Sequence[str], context: int) -> Iterator[Row]:
    """Yield the lines that differ, and so many equal lines before and after them."""
    changes = [tuple(hunk) for hunk in hunks(old, new)]
    end = (len(old), len(old), len(new), len(new))
    new_end = 0
    for number, (first, last, new_first, new_last) in enumerate([*changes, end]):
        equal = new[new_end:new_first]
        before = context if number else 0
        after = context if number < len(changes) else 0
        hidden = len(equal) - before - after
        # A single line is as short as a gap.
        if hidden > 1:
            yield from (("same", line) for line in equal[:before])
            yield "place", f"{hidden} equal lines"
            equal = equal[before + hidden :]
        yield from (("same", line) for line in equal)
        yield from (("removed", line) for line in old[first:last])
        yield from (("added", line) for line in new[new_first:new_last])
        new_end = new_last


def _rows_of(diff: bytes) -> Iterator[Row]:
    for hunk in hunks_of(diff):
        yield "place", f"line {hunk.new_start + 1}"
        for sign, line in hunk.rows:
            yield _WORDS[sign], line.decode("utf-8", "replace")


def _first_lines(rows: Sequence[Row], most_lines: int, letters: int) -> list[DiffLine]:
    """Return as many lines as a person can read."""
    starts = accumulate((len(text) for _, text in rows), initial=0)
    # Fault: one line may be as long as a note, and a list of such diffs as a hundred notes.
    first_rows = [
        (word, text if start + len(text) <= letters else f"{text[: letters - start]}…\n")
        for (word, text), start in zip(rows[:most_lines], starts, strict=False)
        if start < letters
    ]
    first_lines = list(_marked_lines(first_rows))
    more = sum(word in _CHANGED for word, _ in rows[len(first_rows) :])
    if more:
        words = f"{more} more changed lines are not shown"
        first_lines.append(DiffLine("place", ((words, False),)))
    return first_lines


# --- Changed words ----------------------------------------------------------------------------


def _marked_lines(rows: Sequence[Row]) -> Iterator[DiffLine]:
    letters = sum(len(text) for word, text in rows if word in _CHANGED)
    for is_changed, block in groupby(rows, lambda row: row[0] in _CHANGED):
        words, texts = zip(*block, strict=True)
        marked: list[Line] = [((text.rstrip("\r\n"), False),) for text in texts]
        # Fault: a note can be one line of a hundred thousand words.
        if is_changed and letters <= MOST_LETTERS:
            for old, new in _versions(texts, words.count("removed")):
                marked[old], marked[new] = _compared(texts[old], texts[new])
        yield from map(DiffLine, words, marked)


def _versions(texts: Sequence[str], count: int) -> Iterator[tuple[int, int]]:
    """Yield the lines that are versions of each other; so many old ones are before the new ones."""
    first = count
    for old in range(count):
        words = words_in(texts[old])
        for new in range(first, min(first + NEAREST, len(texts))):
            if likeness(words, words_in(texts[new])) >= LEAST_LIKENESS:
                yield old, new
                first = new + 1
                break


def _compared(old: str, new: str) -> tuple[Line, Line]:
    """Return a changed line before and after, in parts."""
    old_tokens, new_tokens = _tokens(old), _tokens(new)
    changes = hunks(old_tokens, new_tokens)
    old_changed = chain.from_iterable(range(hunk.first, hunk.end) for hunk in changes)
    new_changed = chain.from_iterable(range(hunk.side_first, hunk.side_end) for hunk in changes)
    return _marked(old_tokens, set(old_changed)), _marked(new_tokens, set(new_changed))


def _tokens(line: str) -> list[str]:
    """Return the words of a line, what is between them, and its end."""
    tokens = _TOKEN.findall(line)
    return tokens if line.endswith("\n") else [*tokens, NO_LINE_END]


def _marked(tokens: list[str], changed: set[int]) -> Line:
    """Return tokens joined to parts, each equal or changed."""
    end = tokens.pop()
    # A line end is shown only where it differs. A carriage return becomes a mark later.
    if len(tokens) in changed and end != "\n":
        tokens.append(end.removesuffix("\n"))
    for index, token in enumerate(tokens):
        # A blank between two changed words belongs to them.
        if token.isspace() and {index - 1, index + 1} <= changed:
            changed.add(index)
    runs = groupby(range(len(tokens)), changed.__contains__)
    return tuple(("".join(tokens[index] for index in run), flag) for flag, run in runs)
