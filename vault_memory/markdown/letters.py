"""Gives one text one form, in any code points that a keyboard, an editor or a file system chose.

Search, ops, duplicates and forget compare texts in this form. What looks different stays different:
`é` and `e`, `m²` and `m2`, 👩‍💻 and 👩💻.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

ALIKE = {"'": "’‘‚‛′ʹʻʼʽˈ´‹›", '"': "“”„‟″«»〝〞〟", "-": "‐‑‒–—―−⁃﹘", "/": "⁄∕", "~": "〜"}
"""Typographic signs, by the sign that a keyboard has for them"""

PICTURES = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
"""Emoji and other pictures, as a class of an expression"""

INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters without a shape, beside the format controls of Unicode and the selectors of variants"""

_CONTROLS = (
    "\u00ad\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff"
)
# Ligatures, forms of a letter within a word, and other widths and fonts of a letter.
_COMPATIBLE = (
    "\u00a0\u00b5\u0132\u0133\u013f\u0140\u0149\u017f\u01c4-\u01cc\u01f1-\u01f3\u03d0-\u03d6"
    "\u03f0-\u03f9\u0587\u0675-\u0678\u0e33\u0eb3\u0edc\u0edd\u0f0c\u0f77\u0f79\u1e9a"
    "\u2000-\u200a\u2024-\u2026\u202f\u203c\u2047-\u2049\u205f\u20a8\u2100-\u218b\u2a74-\u2a76"
    "\u2e9f\u2ef3\u2f00-\u2fd5\u3000\u3036-\u303a\u3131-\u318e\ufb00-\ufdfc\ufe50-\ufefc"
    "\uff01-\uffee\U0001d400-\U0001d7ff\U0001ee00-\U0001eebb\U0001fbf0-\U0001fbf9"
)
_SEEN = frozenset({"<super>", "<sub>", "<fraction>", "<circle>", "<square>"})
"""Kinds of compatible letters that look different, such as the 2 of `m²`"""


# Compiled on first use: plain ASCII needs none.
@cache
def _other_forms() -> re.Pattern[str]:
    # A joiner makes one picture of two, and the letters after a flag say whose it is.
    picture_parts = (
        rf"(?<=[{PICTURES}\ufe0f])\u200d(?=[{PICTURES}])|(?<=\U0001f3f4)[\U000e0020-\U000e007f]+"
    )
    alike = "".join(ALIKE.values())
    return re.compile(
        f"(?P<part>{picture_parts})|(?P<gone>[{_CONTROLS}{''.join(INVISIBLE)}])|[{_COMPATIBLE}{alike}]"
    )


def one_form(text: str) -> str:
    """Return a text with one form of each letter and sign; case, accents and blanks stay."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text)
    plain = _other_forms().sub(_usual_form, composed)
    # Half-width kana and forms within a word may be composed now.
    return composed if plain == composed else unicodedata.normalize("NFC", plain)


def without_case(text: str) -> str:
    """Return a text with composed letters, in one case. Signs stay as they are, as in a path."""
    if text.isascii():
        return text.lower()
    # Folding the case can give letters that are not composed.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def folded(text: str) -> str:
    """Return a text in one form and one case; blanks and markup stay."""
    return text.lower() if text.isascii() else without_case(one_form(text))


def folded_line(text: str) -> str:
    """Return a text in one form, one case and one line. Markup stays: see `visible_text`."""
    return " ".join(folded(text).split())


def continues_letter(letter: str) -> bool:
    """Return whether a character combines with the one before, as an accent or a Hangul vowel."""
    if letter <= "\u02ff":
        return False
    # The voice marks of half-width kana.
    is_mark = unicodedata.combining(letter) > 0 or letter in "\uff9e\uff9f"
    return is_mark or "\u1160" <= letter <= "\u11ff"


def places(words: str, text: str) -> list[tuple[int, int]]:
    """Return where a text has these words in any code points, in order; case and markup count."""
    forms: list[str] = []
    edges: list[tuple[int, int]] = []
    end = 0
    while end < len(text):
        start = end
        end += 1
        while end < len(text) and continues_letter(text[end]):
            end += 1
        form = one_form(text[start:end])
        forms.append(form)
        edges += [(start, end)] * len(form)
    page = "".join(forms)
    needle = one_form(words)
    return [
        (edges[start][0], edges[start + len(needle) - 1][1])
        for start in _starts(needle, page)
        if _are_whole(edges, start, start + len(needle))
    ]


def _starts(needle: str, page: str) -> Iterator[int]:
    start = page.find(needle) if needle else -1
    while start >= 0:
        yield start
        start = page.find(needle, start + 1)


def _are_whole(edges: list[tuple[int, int]], start: int, end: int) -> bool:
    """Return whether no half of a ligature is at the start or the end."""
    return edges[start - 1 : start] != [edges[start]] and (edges[end : end + 1] != [edges[end - 1]])


def _usual_form(match: re.Match[str]) -> str:
    if match.lastgroup == "part":
        return match[0]
    return "" if match.lastgroup == "gone" else _usual_letter(match[0])


@lru_cache(maxsize=4096)
def _usual_letter(letter: str) -> str:
    for sign, typographic_signs in ALIKE.items():
        if letter in typographic_signs:
            return sign
    kind = unicodedata.decomposition(letter).partition(" ")[0]
    if not kind.startswith("<") or kind in _SEEN:
        return letter
    return unicodedata.normalize("NFKC", letter)
