"""Renders Markdown to the text that a reader sees, with a position in the source for each letter.

Emphasis, link targets, tags and invisible letters are left out, and entities are decoded. Letters
have the form of `markdown.letters`, and NFKC beside. A run of blanks is one blank, an empty line `GAP`.

This look is wider than that of `markdown.visible_text`, by which ops compare items: any sign that may
be markup is left out. A text that is not found would stay, and a text that is found is shown first.
"""

import html
import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from vault_memory.markdown.letters import continues_letter, folded
from vault_memory.rules.paths.skeleton import is_invisible, letter_skeleton

GAP = "\0"
"""An empty line, which separates two texts"""

_ENTITY = r"&(?:amp;)?(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});"
_HIDDEN_MARKUP = (
    r"<!--|-->|</?(?!https?:)[A-Za-z][^<>\n]{0,200}>|\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\]\[[^\]\n]*\]|"
    r"!?\[\[(?:[^\]\[|\n]*\|)?|\]\]|!?\[|\]"
)
_TOKEN = re.compile(
    rf"(?P<entity>{_ENTITY})|(?P<address><https?://[^<>\s]+>)|(?P<markup>{_HIDDEN_MARKUP})|(?P<quote>(?m:^)[ \t]{{0,3}}>[ \t>]*)|"
    r"(?P<escape>\\(?=[!-/:-@\[-`{-~\s]))|(?P<emphasis>[*_~`^]|==)",
    re.DOTALL,
)
_MARKUP = re.compile(_HIDDEN_MARKUP, re.DOTALL)
_HYPHEN = re.compile(r"(?<=\w)[-\u2010\u2011](?:[ \t]*(?:\r\n?|\n)[ \t]*)?(?=\w)")
_BLANKS = re.compile(r"\s+")
_BREAKS = re.compile(r"\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_NO_LETTERS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")

Edges = list[tuple[int, int]]


def rendered(text: str) -> str:
    """Returns the text as a reader sees it."""
    return reading(text)[0]


def reading(text: str) -> tuple[str, Edges]:
    """Returns the rendered text, and for each of its letters its start and end in the source."""
    letters, edges = _visible_letters(text)
    plain = "".join(letters)
    segments: list[str] = []
    new_edges: Edges = []
    last = 0
    for start, end, replacement in _blank_replacements(plain):
        segments.append(plain[last:start] + replacement)
        new_edges += edges[last:start]
        span = (edges[start][0], edges[end - 1][1])
        new_edges += [span] * len(replacement)
        last = end
    segments.append(plain[last:])
    return "".join(segments), new_edges + edges[last:]


def _blank_replacements(plain: str) -> list[tuple[int, int, str]]:
    """Returns spans to replace: hyphens within words vanish, a run of blanks becomes one."""
    spans = [(*hyphen.span(), "") for hyphen in _HYPHEN.finditer(plain)]
    covered = {index for start, end, _ in spans for index in range(start, end)}
    for blanks in _BLANKS.finditer(plain):
        # A hyphen at the end of a line has its line break in its own span.
        if blanks.start() not in covered:
            breaks = len(_BREAKS.findall(blanks[0]))
            spans.append((*blanks.span(), GAP if breaks > 1 else " "))
    return sorted(spans)


def _visible_letters(text: str) -> tuple[list[str], Edges]:
    """Returns the visible letters, folded, each with its place in the source."""
    letters: list[str] = []
    edges: Edges = []
    position = 0
    for token in _TOKEN.finditer(text):
        _add_letters(text, position, token.start(), letters, edges)
        if token.lastgroup == "entity":
            # `&amp;lt;` is an entity that a program escaped again.
            decoded = html.unescape(html.unescape(token[0]))
            fold = "".join(map(_folded, decoded))
            letters += fold
            edges += [token.span()] * len(fold)
        elif token.lastgroup == "address":
            _add_letters(text, token.start() + 1, token.end() - 1, letters, edges)
        position = token.end()
    _add_letters(text, position, len(text), letters, edges)
    return letters, edges


def _add_letters(text: str, position: int, end: int, letters: list[str], edges: Edges) -> None:
    """Appends the folded letters of `text[position:end]`, an accent with its letter."""
    while position < end:
        start = position
        position += 1
        while position < end and continues_letter(text[position]):
            position += 1
        fold = _folded(text[start:position])
        letters += fold
        edges += [(start, position)] * len(fold)


@lru_cache(maxsize=4096)
def _folded(cluster: str) -> str:
    """Returns a letter with its accents, folded; ``""`` for an invisible one."""
    visible = "".join(filter(_is_visible, cluster))
    return unicodedata.normalize("NFKC", folded(visible))


def _is_visible(letter: str) -> bool:
    if not is_invisible(letter) or _is_accent(letter):
        return True
    # Control characters separate words in data files.
    return unicodedata.category(letter) == "Cc"


def _is_accent(letter: str) -> bool:
    return (
        unicodedata.category(letter) == "Mn"
        and unicodedata.combining(letter) > 0
        and letter != "\u034f"
    )


def letters_only(text: str) -> str:
    """Returns the folded letters and digits, without markup. Quick, for a first check."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if "[" in text or "]" in text or "<" in text:
        text = _MARKUP.sub("", text)
    if text.isascii():
        return _NO_LETTERS.sub("", text.lower())
    text = unicodedata.normalize("NFKC", folded(text))
    visible = (letter for letter in text if letter < "\u0300" or not is_invisible(letter))
    return _NO_LETTERS.sub("", "".join(visible))


def paragraphs_of(text: str) -> list[tuple[int, int]]:
    """Returns the start and end of each paragraph of a page."""
    starts = [0, *(gap.end() for gap in _EMPTY_LINE.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(starts) if start < end]


def words_alike(text: str) -> list[str]:
    """Returns the words of a rendered text as they look: in plain letters without accents."""
    return _WORD.findall("".join(map(letter_skeleton, rendered(text))))
