"""A text that somebody wants forgotten, and where it stands in another: case, blanks and Unicode forms do not count.

Texts are compared as NFC, case-folded, each run of blanks as one, and once more as they are read when rendered (see
`rendered`). A line that is wrapped is still one text; an empty line ends it.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from vault_memory.errors import UsageError
from vault_memory.rules.forgetting.rendered_text import (
    letters_only,
    parts_of,
    reading,
    rendered,
    words_alike,
)
from vault_memory.rules.paths.skeleton import letter_skeleton
from vault_memory.rules.search.tokens import is_run

FEWEST = 3
"""Letters, digits and marks that must be given, and of scripts without spaces one less: fewer would take too much"""

MASK = "…"
"""Stands in a name where the text stood"""

_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_GAP = re.compile(r"[^\S\n]*\n(?:[^\S\n]*\n)+\s*")
_BLANKS = re.compile(r"\s+")
_GAP_MARK = "\0"
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([nrt\"\\/]))"
)
_MEANT = {"n": "\n", "r": "\r", "t": "\t"}


class TextTooShort(UsageError):
    """So little text stands in too much that is not meant."""

    def __init__(self) -> None:
        super().__init__(
            f"that text is too short to be forgotten: at least {FEWEST} letters are needed, and one that is no mark",
            hint="give more of it, as it stands in the notes",
        )


def folded(text: str) -> str:
    """The text as it is compared, apart from its blanks."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@dataclass(frozen=True, slots=True)
class TextMatcher:
    """What is to be forgotten."""

    needle: str = field(repr=False)
    """folded, its blanks too"""
    rendered: str = field(default="", repr=False)
    """as a reader sees it; empty where that is too little to look for"""
    words: tuple[str, ...] = field(default=(), repr=False)
    """its words in plain letters, for what only reads alike"""

    @classmethod
    def of(cls, text: str) -> "TextMatcher":
        """Raises TextTooShort."""
        needle = " ".join(folded(text).split())
        if not _is_enough(needle) or _GAP_MARK in needle:
            raise TextTooShort
        plain = rendered(text).replace(_GAP_MARK, " ").strip()
        return cls(needle, plain if _is_enough(plain) else "", tuple(words_alike(text)))

    def hides(self, text: str) -> bool:
        """Whether a text that is one, such as an item or an op, holds it, as it is written or as it is read."""
        page = folded(text)
        if self._has_words(page) and self.needle in " ".join(page.split()):
            return True
        return self._may_be_read_in(text) and self.rendered in rendered(text).replace(
            _GAP_MARK, " "
        )

    def stands_in(self, text: str) -> bool:
        """Whether a page of texts holds it; what an empty line parts are two."""
        page = folded(text)
        if self._has_words(page) and self.needle in _BLANKS.sub(
            " ", _GAP.sub(_GAP_MARK, _BREAKS.sub("\n", page))
        ):
            return True
        return any(
            self.rendered in rendered(text[start:end])
            for start, end in self._parts(text)
        )

    def may_stand_in(self, text: str) -> bool:
        """Whether all its words are there, in whatever order; quick."""
        return self._has_words(folded(text)) or self._may_be_read_in(text)

    def reads_alike(self, text: str) -> int:
        """How often its words stand there in look-alike letters, other accents, or parted otherwise.

        Where it stands as it is written counts, too.
        """
        wanted = "".join(self.words)
        if not wanted or not self._may_look_alike(text, wanted):
            return 0
        words, count = words_alike(text), 0
        for first in range(len(words)):
            joined, at = "", first
            while at < len(words) and len(joined) < len(wanted):
                joined, at = joined + words[at], at + 1
            count += joined == wanted
        return count

    def _may_look_alike(self, text: str, wanted: str) -> bool:
        return wanted in letters_only(
            text if text.isascii() else "".join(map(letter_skeleton, text))
        )

    def _has_words(self, page: str) -> bool:
        return all(word in page for word in self.needle.split(" "))

    def _may_be_read_in(self, text: str) -> bool:
        return bool(self.rendered) and letters_only(self.rendered) in letters_only(text)

    def _parts(self, text: str) -> list[tuple[int, int]]:
        """The parts of a page in which it may be read."""
        if not self._may_be_read_in(text):
            return []
        return [
            (start, end)
            for start, end in parts_of(text)
            if self._may_be_read_in(text[start:end])
        ]

    def is_in_bytes(self, raw: bytes, *, escaped: bool = True) -> bool:
        """Whether any bytes hold it: as UTF-8, and as JSON escapes it."""
        text = raw.decode("utf-8", "replace")
        return self.stands_in(text) or (
            escaped and "\\" in text and self.stands_in(unescaped(text))
        )

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where it stands in a page of texts, as it is written or as it is read: positions of characters."""
        if not self.stands_in(text):
            return []
        found = set(self._written_spans(text))
        for begin, end in self._parts(text):
            page, edges = reading(text[begin:end])
            found.update(_spans_of(self.rendered, page, edges, begin))
        return sorted(found)

    def _written_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for begin, end in self._windows(text):
            pieces, edges = _pieces(text[begin:end])
            yield from _spans_of(self.needle, "".join(pieces), edges, begin)

    def _windows(self, text: str) -> list[tuple[int, int]]:
        """The parts of a page in which it may begin and end: whole lines, from each that has its first word."""
        words = self.needle.split(" ")
        starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
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
        """The text without it, for telling of a place whose very name holds it."""
        last = len(text)
        for start, end in reversed(self.spans(text)):
            if end <= last:
                text, last = text[:start] + MASK + text[end:], start
        return MASK if self.hides(text) else text


def _spans_of(
    needle: str, page: str, edges: list[tuple[int, int]], begin: int
) -> Iterator[tuple[int, int]]:
    at = 0
    while (at := page.find(needle, at)) >= 0:
        yield begin + edges[at][0], begin + edges[at + len(needle) - 1][1]
        at += 1


def _is_enough(needle: str) -> bool:
    fewest = FEWEST - 1 if any(map(is_run, needle)) else FEWEST
    return len(needle) >= fewest and any(map(str.isalnum, needle))


def unescaped(text: str) -> str:
    """Text out of JSON, as it was before it was escaped; what is no escape stays."""
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(found: re.Match[str]) -> str:
    high, low, code, letter = found.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    return chr(int(code, 16)) if code else _MEANT.get(letter, letter)


def _pieces(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The folded text in pieces, and for each of its characters from where to where it stood in the text."""
    pieces: list[str] = []
    edges: list[tuple[int, int]] = []
    at, end = 0, len(text)
    while at < end:
        start = at
        at += 1
        if text[start].isspace():
            while at < end and text[at].isspace():
                at += 1
            piece = (
                _GAP_MARK if _BREAKS.sub("\n", text[start:at]).count("\n") > 1 else " "
            )
        else:
            while at < end and _goes_on(text[at]):
                at += 1
            piece = folded(text[start:at])
        pieces.append(piece)
        edges += [(start, at)] * len(piece)
    return pieces, edges


def _goes_on(letter: str) -> bool:
    """Whether a letter only makes one with the letter before it: an accent, or the rest of a syllable of Hangul."""
    return letter > "\u02ff" and (
        unicodedata.combining(letter) > 0 or "\u1160" <= letter <= "\u11ff"
    )
