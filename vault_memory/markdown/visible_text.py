"""Returns the text of an item as a reader sees it: without the signs of links, emphasis and code.

`[[Anna Keller|Anna]]`, `[Anna](people/anna.md)`, `**Anna**` and `Anna` are one text. Text that is
struck stays struck: `~~Lives in Rome~~` says that it ended. Signs that mark nothing stay, such as
those of `2*3` and `snake_case`.
"""

import html
import re
from collections import defaultdict
from functools import lru_cache

from vault_memory.markdown.letters import folded, folded_line

_MAY_HAVE_MARKUP = re.compile(r"[*_`=~\[\\<&]")
_TAGS = "a|abbr|b|big|br|center|cite|code|del|div|em|font|i|img|ins|kbd|mark|p|q|s|small|span|strong|sub|sup|u"
_TOKEN = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`{1,3})(?!`)(?P<source>[^`]+)(?P=ticks)(?!`))"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)"
    r"|!?\[\[(?P<note>[^\[\]|\n]+)(?:\|(?P<alias>[^\[\]|\n]+))?\]\]"
    r"|!?\[(?P<words>[^\[\]\n]*)\]\((?P<url>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)"
    r"|!?\[(?P<label>[^\[\]\n]+)\]\[(?P<reference>[^\[\]\n]*)\]"
    rf"|(?P<tag></?(?:{_TAGS})(?:\s[^<>\n]*)?/?>)"
    r"|<(?P<address>https?://[^<>\s]+)>",
    re.IGNORECASE,
)
_WORDS_OF = {"code": "source", "url": "words", "reference": "label"}
"""The part that is seen, of a token that has two"""
_LITERAL = frozenset({"code", "escaped", "entity"})
"""Tokens in which no sign is markup"""
_EMPHASIS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<!\*)(?P<sign>\*{1,3})(?![\s*])(?P<inner>[^*\n]+)(?<!\s)(?P=sign)(?!\*)",
        r"(?<![\w_])(?P<sign>_{1,3})(?![\s_])(?P<inner>(?:[^_\n]|(?<=\w)_(?=\w))+)(?<!\s)(?P=sign)(?![\w_])",
        r"(?<!=)(?P<sign>==)(?![\s=])(?P<inner>[^=\n]+)(?<!\s)==(?!=)",
    )
)
_MOST_NESTED = 4
"""Levels of emphasis within emphasis"""
_HIDDEN = 0xF0000
"""Added to a sign that is no markup, so that no expression takes it for one"""
_SIGNS = {ord(sign): _HIDDEN + ord(sign) for sign in "*_=~`[]\\<>&"}
_UNHIDE = {hidden: sign for sign, hidden in _SIGNS.items()}


@lru_cache(maxsize=4096)
def visible(text: str) -> str:
    """Return a text as a reader sees it, in one form, one case and one line."""
    return folded_line(shown(text))


def is_plain(text: str) -> bool:
    """Return whether a text is ASCII without markup: in lower case and one line it is `visible`."""
    return text.isascii() and not _MAY_HAVE_MARKUP.search(text)


class SeenTexts:
    """Texts of items, to find out whether a new one says what a reader sees already."""

    def __init__(self) -> None:
        self._plain: set[str] = set()
        self._targets: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def add(self, text: str) -> None:
        """Add a text of one line."""
        # Most texts are plain, and to fold each of a long list would make each op slow.
        if is_plain(text):
            self._plain.add(text.lower())
        else:
            self._targets[_seen_or_written(text)].append(_targets(text))

    def __contains__(self, text: str) -> bool:
        """Whether one of the texts looks the same; links to different places are different."""
        look = _seen_or_written(text)
        targets = _targets(text)
        # Fault: `[report](june.pdf)` would be lost beside `[report](may.pdf)`.
        return look in self._plain or any(
            not targets or not earlier or targets == earlier
            for earlier in self._targets.get(look, ())
        )


def _seen_or_written(text: str) -> str:
    """Return the visible text; of a picture alone, which has none, the text as it is written."""
    return visible(text) or folded_line(text)


def _targets(text: str) -> frozenset[str]:
    """Return where the links of a text lead."""
    if "[" not in text:
        return frozenset()
    targets = (match["note"] or match["url"] for match in _TOKEN.finditer(text))
    return frozenset(folded(target.strip()) for target in targets if target)


def shown(text: str) -> str:
    """Return a text without its markup."""
    if not _MAY_HAVE_MARKUP.search(text):
        return text
    text = _TOKEN.sub(_shown, text)
    for _ in range(_MOST_NESTED):
        before = text
        for emphasis in _EMPHASIS:
            text = emphasis.sub(r"\g<inner>", text)
        if text == before:
            break
    return text.translate(_UNHIDE)


def _shown(match: re.Match[str]) -> str:
    """Return what a reader sees of a link, a piece of code, an escape, an entity or a tag."""
    group = match.lastgroup or ""
    if group == "tag":
        return ""
    words = match[_WORDS_OF.get(group, group)]
    if group == "entity":
        words = html.unescape(words)
    return words.translate(_SIGNS) if group in _LITERAL else words
