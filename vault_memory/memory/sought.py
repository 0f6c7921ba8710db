"""A text that somebody wants forgotten, and where it stands in another: case, blanks and Unicode forms do not count.

Texts are compared as NFC, case-folded, each run of blanks as one. A line that is wrapped is still one text; an empty
line ends it.
"""

import re
import unicodedata
from dataclasses import dataclass, field

from vault_memory.errors import UsageError
from vault_memory.memory.words import is_run

FEWEST = 3
"""Letters, digits and marks that must be given, and of scripts without spaces one less: fewer would take too much"""

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
class Sought:
    """What is to be forgotten."""

    needle: str = field(repr=False)
    """folded, its blanks too"""

    @classmethod
    def of(cls, text: str) -> "Sought":
        """Raises TextTooShort."""
        needle = " ".join(folded(text).split())
        fewest = FEWEST - 1 if any(map(is_run, needle)) else FEWEST
        if len(needle) < fewest or not any(map(str.isalnum, needle)) or _GAP_MARK in needle:
            raise TextTooShort
        return cls(needle)

    def hides(self, text: str) -> bool:
        """Whether a text that is one, such as an item or an op, holds it."""
        return self.needle in " ".join(folded(text).split())

    def stands_in(self, text: str) -> bool:
        """Whether a page of texts holds it; what an empty line parts are two."""
        text = _GAP.sub(_GAP_MARK, _BREAKS.sub("\n", text)) if "\n" in text or "\r" in text else text
        return self.needle in _BLANKS.sub(" ", folded(text))

    def is_in_bytes(self, raw: bytes, *, escaped: bool = True) -> bool:
        """Whether any bytes hold it: as UTF-8, and as JSON escapes it."""
        text = raw.decode("utf-8", "replace")
        return self.stands_in(text) or (escaped and "\\" in text and self.stands_in(unescaped(text)))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where it stands in a page of texts: positions of characters."""
        if not self.stands_in(text):
            return []
        pieces, edges = _pieces(text)
        page, found, at = "".join(pieces), [], 0
        while (at := page.find(self.needle, at)) >= 0:
            found.append((edges[at][0], edges[at + len(self.needle) - 1][1]))
            at += 1
        return found

    def masked(self, text: str) -> str:
        """The text without it, for telling of a place whose very name holds it."""
        for start, end in reversed(self.spans(text)):
            text = text[:start] + "…" + text[end:]
        return text


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
            piece = _GAP_MARK if _BREAKS.sub("\n", text[start:at]).count("\n") > 1 else " "
        else:
            while at < end and _goes_on(text[at]):
                at += 1
            piece = folded(text[start:at])
        pieces.append(piece)
        edges += [(start, at)] * len(piece)
    return pieces, edges


def _goes_on(letter: str) -> bool:
    """Whether a letter only makes one with the letter before it: an accent, or the rest of a syllable of Hangul."""
    return letter > "\u02ff" and (unicodedata.combining(letter) > 0 or "\u1160" <= letter <= "\u11ff")
