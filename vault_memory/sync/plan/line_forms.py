"""Finds the lines of a note that were edited, and the forms that they have now. Pure.

A device, or a program that has not read the last edit of a line, brings an earlier form of it back. A merge
would keep both forms, and an editor that saves by itself makes many of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise, product

from vault_memory.markdown.merging.similarity import LIKE, MAX_PAIRS, best_pairs, likeness, words_in
from vault_memory.markdown.merging.three_way import merge

_is_heading = re.compile(rb"#{1,6}(\s|$)").match
_mark = re.compile(rb" \xe2\x9a\xa0 \(other device, [\d-]*\)$")


@dataclass(frozen=True, slots=True)
class SeenText:
    """A text of a note that was here."""

    raw: bytes
    is_of_device: bool
    """whether a person or the bot wrote it on this device, over the text before it"""


@dataclass(frozen=True, slots=True)
class LineForms:
    """The lines that became other ones, each with its next form."""

    next_forms: Mapping[bytes, bytes] = field(default_factory=dict)

    def merge(self, base: bytes | None, ours: bytes, theirs: bytes, date: str) -> bytes | None:
        """Merge two versions, in which each line has its latest form; None when that is impossible."""
        base_lines = _lines_of(base or b"")
        new_base = None if base is None else self.renew(base, ours + b"\n" + theirs)
        return merge(
            new_base,
            self.renew(ours, theirs, base_lines),
            self.renew(theirs, ours, base_lines),
            between_people=True,
            date=date,
        ).result

    def renew(
        self, text: bytes, second: bytes = b"", base_lines: Set[bytes] = frozenset()
    ) -> bytes:
        """Replace each line by its latest form that is in the text itself or in the second one.

        `base_lines`: those of the text that both are based on.
        """
        if not self.next_forms:
            return text
        lines, second_lines = _lines_of(text), _lines_of(second)
        rows = []
        for row in text.splitlines(keepends=True):
            line = _without_mark(row)
            latest = self._latest(line, lines | second_lines)
            # Fault: somebody who had read the latest form took the words out that it has more.
            is_meant = latest in base_lines and line not in base_lines
            if latest is None or is_meant:
                rows.append(row)
            elif latest not in lines:
                rows.append(row.replace(line, latest, 1))
                lines.add(latest)
        return b"".join(rows)

    def _latest(self, line: bytes, lines: set[bytes]) -> bytes | None:
        """The latest form of a line that is among these lines; None for a line without a later form there."""
        latest, form, passed = None, self.next_forms.get(line), {line}
        while form is not None and form not in passed:
            passed.add(form)
            latest = form if form in lines else latest
            form = self.next_forms.get(form)
        return latest


def forms_in(texts: Sequence[SeenText]) -> LineForms:
    """Find the lines that became other ones. `texts`: those of one note, the oldest first."""
    next_forms: dict[bytes, bytes] = {}
    known_lines: set[bytes] = set()
    for earlier, later in pairwise(texts):
        old_lines, new_lines = _lines_of(earlier.raw), _lines_of(later.raw)
        removed, added = old_lines - new_lines, new_lines - old_lines
        known_lines |= old_lines
        if later.is_of_device:
            # Fault: somebody writes a line again beside a longer one. It is theirs, and stays.
            for line in added:
                next_forms.pop(line, None)
        for old, new in _pairs(removed, added):
            # Fault: a program had not read a line, and wrote one that is only alike. A longer form has all
            # words of the line: without the earlier one, none is lost.
            is_form = later.is_of_device or _words(old) <= _words(new)
            # Fault: a program that had not read the new form brings the old one back, which looks like an
            # edit of the new one.
            if is_form and new not in known_lines:
                next_forms.setdefault(old, new)
    return LineForms(next_forms)


def _pairs(removed: Iterable[bytes], added: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
    """The removed lines, each with the added one that it may have become."""
    olds, news = sorted(removed), sorted(added)
    if not olds or not news or len(olds) * len(news) > MAX_PAIRS:
        return []
    likes = []
    for (number, old), (place, new) in product(enumerate(olds), enumerate(news)):
        like = _likeness(old, new)
        if like >= LIKE:
            likes.append((like, number, place))
    return [(olds[number], news[place]) for number, place in best_pairs(likes)]


def _likeness(old: bytes, new: bytes) -> float:
    like = likeness(_words(old), _words(new))
    return max(like, LIKE) if new.startswith(old) else like


def _words(line: bytes) -> Counter[str]:
    return words_in(line.decode(errors="replace"))


def _lines_of(raw: bytes) -> set[bytes]:
    """The lines of a text that may have forms: no headings, and without the mark of a conflict."""
    lines = map(_without_mark, raw.splitlines())
    return {line for line in lines if line and not _is_heading(line)}


def _without_mark(line: bytes) -> bytes:
    return _mark.sub(b"", line.strip())
