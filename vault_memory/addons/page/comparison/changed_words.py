"""Marks changed words in the changed lines of a diff."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from vault_memory.addons.page.comparison.common_pairs import Pair, common_pairs

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

    def _versions(self, old_lines: Sequence[str], new_lines: Sequence[str]) -> Iterator[Pair]:
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
    pairs = common_pairs(old_tokens, new_tokens)
    equal_old = {index for index, _ in pairs}
    equal_new = {index for _, index in pairs}
    old_line = _marked(old_tokens, equal_old)
    new_line = _marked(new_tokens, equal_new)
    if old_end != new_end:
        old_line += _line_end(old_end)
        new_line += _line_end(new_end)
    return old_line, new_line


def _marked(tokens: Sequence[str], equal: set[int]) -> Line:
    """Return tokens joined to parts, each equal or changed."""
    changed = [index not in equal for index in range(len(tokens))]
    # A blank between two changed words belongs to them.
    for index in range(1, len(tokens) - 1):
        if tokens[index].isspace() and changed[index - 1] and changed[index + 1]:
            changed[index] = True
    runs = groupby(zip(tokens, changed, strict=True), key=itemgetter(1))
    return tuple(("".join(token for token, _ in run), flag) for flag, run in runs)


def unmarked(line: str) -> Line:
    """Return a line as one part, without its line end."""
    return ((line.rstrip("\r\n"), False),)
