"""Finds a text that a user wants forgotten, in any case, spacing and Unicode form.

Texts are compared in the form of `markdown.letters`, with each run of blanks as one blank. They are
compared again as a reader sees them rendered (see `rendered_text`). A wrapped line is still one
text; an empty line ends a text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from vault_memory.errors import UsageError
from vault_memory.markdown.encodings import text_of
from vault_memory.markdown.letters import continues_letter, folded, folded_line
from vault_memory.rules.forgetting.rendered_text import (
    letters_only,
    paragraphs_of,
    reading,
    rendered,
    words_alike,
)
from vault_memory.rules.paths.skeleton import letter_skeleton
from vault_memory.rules.search.tokens import is_run

FEWEST = 3
"""The fewest letters, digits and marks; one less for scripts without spaces. A shorter text
would match unrelated content"""

MASK = "…"
"""Replaces the text in a name"""

PART_LINES = 200
"""Lines of a long paragraph that are rendered together, besides the overlap"""

_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_GAP = re.compile(r"(?<![^\S\n])[^\S\n]*+\n(?:[^\S\n]*+\n)++\s*+")
_BLANKS = re.compile(r"\s+")
_GAP_MARK = "\0"
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([nrt\"\\/]))"
)
_ESCAPED_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}


class TextTooShort(UsageError):
    """The text is too short to forget safely: it would match unrelated content."""

    def __init__(self) -> None:
        super().__init__(
            f"that text is too short to be forgotten: at least {FEWEST} letters are needed, and one that is no mark",
            hint="give more of it, as it stands in the notes",
        )


@dataclass(frozen=True, slots=True)
class TextMatcher:
    """The text to forget, and its searches."""

    needle: str = field(repr=False)
    """folded, with single blanks"""
    rendered: str = field(default="", repr=False)
    """as a reader sees it; empty when that is too short to search for"""
    words: tuple[str, ...] = field(default=(), repr=False)
    """its words in plain letters, for look-alike spellings"""

    @classmethod
    def of(cls, text: str) -> "TextMatcher":
        """Returns the matcher of a text. Raises TextTooShort."""
        needle = folded_line(text)
        if not _is_enough(needle) or _GAP_MARK in needle:
            raise TextTooShort
        plain = rendered(text).replace(_GAP_MARK, " ").strip()
        return cls(needle, plain if _is_enough(plain) else "", tuple(words_alike(text)))

    def hides(self, text: str) -> bool:
        """Returns whether a single text, such as an item or an op, contains it.

        Compares the text as it is written and as it is rendered.
        """
        page = folded(text)
        if self._has_words(page) and self.needle in " ".join(page.split()):
            return True
        if not self._may_render_in(text):
            return False
        return self.rendered in rendered(text).replace(_GAP_MARK, " ")

    def stands_in(self, text: str) -> bool:
        """Returns whether a page contains it; an empty line separates texts."""
        page = folded(text)
        if self._has_words(page):
            marked = _GAP.sub(_GAP_MARK, _BREAKS.sub("\n", page))
            if self.needle in _BLANKS.sub(" ", marked):
                return True
        return any(
            self.rendered in rendered(text[start:end]) for start, end in self._candidate_parts(text)
        )

    def may_stand_in(self, text: str) -> bool:
        """Returns whether all its words are in the text, in any order. Quick."""
        return self._has_words(folded(text)) or self._may_render_in(text)

    def reads_alike(self, text: str) -> int:
        """Counts its look-alike spellings: similar letters, other accents, other word borders.

        The exact spelling counts, too.
        """
        letters = "".join(self.words)
        if not letters or not self._may_look_alike(text, letters):
            return 0
        words = words_alike(text)
        return sum(_spells_from(index, words, letters) for index in range(len(words)))

    def _may_look_alike(self, text: str, letters: str) -> bool:
        if not text.isascii():
            text = "".join(map(letter_skeleton, text))
        return letters in letters_only(text)

    def _has_words(self, page: str) -> bool:
        return all(word in page for word in self.needle.split(" "))

    def _may_render_in(self, text: str) -> bool:
        if not self.rendered:
            return False
        return letters_only(self.rendered) in letters_only(text)

    def _candidate_parts(self, text: str) -> list[tuple[int, int]]:
        """Returns the paragraphs, or parts of long paragraphs, whose rendered text may contain it."""
        if not self._may_render_in(text):
            return []
        # Each line break of a match renders as a blank or joins two letters.
        most_lines = len(self.rendered) + 1
        candidates = []
        for start, end in paragraphs_of(text):
            for part_start, part_end in _overlapping_parts(text, start, end, most_lines):
                if self._may_render_in(text[part_start:part_end]):
                    candidates.append((part_start, part_end))
        return candidates

    def is_in_bytes(self, raw: bytes, *, escaped: bool = True) -> bool:
        """Returns whether any bytes contain it: as the text of a note, and as escaped JSON."""
        text = text_of(raw)
        if self.stands_in(text):
            return True
        return escaped and "\\" in text and self.stands_in(unescaped(text))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Returns all its places in a page, as written or as rendered, in characters."""
        if not self.stands_in(text):
            return []
        spans = set(self._written_spans(text))
        for start, end in self._candidate_parts(text):
            page, edges = reading(text[start:end])
            spans.update(_spans_of(self.rendered, page, edges, start))
        return sorted(spans)

    def _written_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for start, end in self._windows(text):
            page, edges = _fold_with_edges(text[start:end])
            yield from _spans_of(self.needle, page, edges, start)

    def _windows(self, text: str) -> list[tuple[int, int]]:
        """Returns the lines in which it may begin and end: from each line with its first word."""
        words = self.needle.split(" ")
        starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
        windows: list[tuple[int, int]] = []
        for number, (start, end) in enumerate(pairwise(starts)):
            if words[0] not in folded(text[start:end]):
                continue
            last = starts[min(number + len(words), len(starts) - 1)]
            if windows and start < windows[-1][1]:
                start = windows.pop()[0]
            windows.append((start, last))
        return windows

    def masked(self, text: str) -> str:
        """Returns a name without it, so that a report may name a file that is called like it."""
        masked_from = len(text)
        for start, end in reversed(self.spans(text)):
            if end <= masked_from:
                text = text[:start] + MASK + text[end:]
                masked_from = start
        # Masking may bring letters together that spell it again.
        return MASK if self.hides(text) else text


def _overlapping_parts(
    text: str, start: int, end: int, most_lines: int
) -> Iterator[tuple[int, int]]:
    """Yields parts of a paragraph, so that any `most_lines` lines in a row are together in one part.

    A long list is one paragraph, and rendering it costs seconds.
    """
    breaks = re.finditer("\n", text[start:end])
    line_starts = [start, *(start + match.end() for match in breaks)]
    size = PART_LINES + most_lines
    for first in range(0, len(line_starts), PART_LINES):
        after = first + size
        part_end = line_starts[after] if after < len(line_starts) else end
        yield line_starts[first], part_end
        if part_end == end:
            return


def _spells_from(index: int, words: list[str], letters: str) -> bool:
    """Returns whether the words from `index` on, joined, are exactly these letters."""
    joined = ""
    while index < len(words) and len(joined) < len(letters):
        joined += words[index]
        index += 1
    return joined == letters


def _spans_of(
    needle: str, page: str, edges: list[tuple[int, int]], offset: int
) -> Iterator[tuple[int, int]]:
    """Yields the places of `needle` in a folded page, as positions in its source."""
    index = page.find(needle)
    while index >= 0:
        start, _ = edges[index]
        _, end = edges[index + len(needle) - 1]
        yield offset + start, offset + end
        index = page.find(needle, index + 1)


def _is_enough(needle: str) -> bool:
    fewest = FEWEST - 1 if any(map(is_run, needle)) else FEWEST
    return len(needle) >= fewest and any(map(str.isalnum, needle))


def unescaped(text: str) -> str:
    """Returns a JSON text with its escapes decoded; an invalid escape stays."""
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    high, low, code, letter = match.groups()
    if high:
        upper_bits = (int(high, 16) - 0xD800) << 10
        return chr(0x10000 + upper_bits + int(low, 16) - 0xDC00)
    if code:
        return chr(int(code, 16))
    return _ESCAPED_LETTERS.get(letter, letter)


def _fold_with_edges(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Returns the folded text, and for each of its characters its start and end in the source."""
    clusters: list[str] = []
    edges: list[tuple[int, int]] = []
    end = 0
    while end < len(text):
        start = end
        end += 1
        if text[start].isspace():
            while end < len(text) and text[end].isspace():
                end += 1
            line_breaks = _BREAKS.sub("\n", text[start:end]).count("\n")
            cluster = _GAP_MARK if line_breaks > 1 else " "
        else:
            while end < len(text) and continues_letter(text[end]):
                end += 1
            cluster = folded(text[start:end])
        clusters.append(cluster)
        edges += [(start, end)] * len(cluster)
    return "".join(clusters), edges
