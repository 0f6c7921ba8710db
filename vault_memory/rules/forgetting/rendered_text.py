"""A text as a reader sees it rendered: without emphasis, link targets, tags and invisible letters, entities decoded.

Each letter of the rendered text knows where it stands in the source, so that what is found in it can be taken out.
Letters are folded: NFKC, case-folded. A run of blanks is one blank, and an empty line is `GAP`.
"""

import html
import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from vault_memory.rules.paths.skeleton import is_invisible, letter_skeleton

GAP = "\0"
"""Stands for an empty line: what it parts are two texts"""

_ENTITY = r"&(?:amp;)?(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});"
_HIDDEN_MARKUP = (
    r"<!--|-->|</?[A-Za-z][^<>\n]{0,200}>|\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\]\[[^\]\n]*\]|"
    r"!?\[\[(?:[^\]\[|\n]*\|)?|\]\]|!?\[|\]"
)
_TOKEN = re.compile(
    rf"(?P<entity>{_ENTITY})|(?P<markup>{_HIDDEN_MARKUP})|(?P<quote>(?m:^)[ \t]{{0,3}}>[ \t>]*)|"
    r"(?P<escape>\\(?=[!-/:-@\[-`{-~\s]))|(?P<emphasis>[*_~`^]|==)",
    re.DOTALL,
)
_MARKUP = re.compile(_HIDDEN_MARKUP, re.DOTALL)
_HYPHEN = re.compile(r"(?<=\w)[-\u2010\u2011](?:[ \t]*(?:\r\n?|\n)[ \t]*)?(?=\w)")
_BLANKS = re.compile(r"\s+")
_BREAKS = re.compile(r"\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_NO_LETTERS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"\n[^\S\n]*\n")

Edges = list[tuple[int, int]]


def rendered(text: str) -> str:
    """The text as it is read."""
    return reading(text)[0]


def reading(text: str) -> tuple[str, Edges]:
    """The rendered text, and for each of its letters from where to where it stands in the source."""
    letters, edges = _letters(text)
    plain = "".join(letters)
    pieces: list[str] = []
    kept: Edges = []
    last = 0
    for start, end, instead in _replaced(plain):
        pieces.append(plain[last:start] + instead)
        kept += edges[last:start]
        kept += [(edges[start][0], edges[end - 1][1])] * len(instead)
        last = end
    pieces.append(plain[last:])
    return "".join(pieces), kept + edges[last:]


def _replaced(plain: str) -> list[tuple[int, int, str]]:
    """Hyphens within words go, and runs of blanks become one."""
    spans = [(*hyphen.span(), "") for hyphen in _HYPHEN.finditer(plain)]
    taken = {at for start, end, _ in spans for at in range(start, end)}
    for blanks in _BLANKS.finditer(plain):
        if blanks.start() not in taken:
            breaks = len(_BREAKS.findall(blanks[0]))
            spans.append((*blanks.span(), GAP if breaks > 1 else " "))
    return sorted(spans)


def _letters(text: str) -> tuple[list[str], Edges]:
    """The visible letters, folded, each with its place in the source."""
    letters: list[str] = []
    edges: Edges = []
    at = 0
    for token in _TOKEN.finditer(text):
        _take(text, at, token.start(), letters, edges)
        if token.lastgroup == "entity":
            decoded = html.unescape(html.unescape(token[0]))
            fold = "".join(map(_folded, decoded))
            letters += fold
            edges += [token.span()] * len(fold)
        at = token.end()
    _take(text, at, len(text), letters, edges)
    return letters, edges


def _take(text: str, at: int, end: int, letters: list[str], edges: Edges) -> None:
    while at < end:
        start = at
        at += 1
        while at < end and text[at] > "\u02ff" and _goes_on(text[at]):
            at += 1
        fold = _folded(text[start:at])
        letters += fold
        edges += [(start, at)] * len(fold)


def _goes_on(letter: str) -> bool:
    """Whether a letter only makes one with the letter before it: an accent, or the rest of a syllable of Hangul."""
    return unicodedata.combining(letter) > 0 or "\u1160" <= letter <= "\u11ff"


@lru_cache(maxsize=4096)
def _folded(cluster: str) -> str:
    """A letter with its accents, folded; nothing for what nobody sees. Controls stay: they part words in data."""
    seen = "".join(
        one
        for one in cluster
        if not is_invisible(one) or _is_accent(one) or unicodedata.category(one) == "Cc"
    )
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def _is_accent(letter: str) -> bool:
    return (
        unicodedata.category(letter) == "Mn"
        and unicodedata.combining(letter) > 0
        and letter != "\u034f"
    )


def letters_only(text: str) -> str:
    """The folded letters and digits alone, with markup taken out: quick, for a first look."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if "[" in text or "]" in text or "<" in text:
        text = _MARKUP.sub("", text)
    if text.isascii():
        return _NO_LETTERS.sub("", text.lower())
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _NO_LETTERS.sub(
        "", "".join(one for one in text if one < "\u0300" or not is_invisible(one))
    )


def parts_of(text: str) -> list[tuple[int, int]]:
    """From where to where the parts of a page go that empty lines divide."""
    starts = [0, *(gap.end() for gap in _PART.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(starts) if start < end]


def words_alike(text: str) -> list[str]:
    """The words of a rendered text as they look: without accents, in plain letters."""
    return _WORD.findall("".join(map(letter_skeleton, rendered(text))))
