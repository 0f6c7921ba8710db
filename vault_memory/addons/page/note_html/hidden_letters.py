"""Finds letters that a reader cannot see: bidi controls, invisible letters and control characters.

A hostile note turns its text around with them, or hides words from the reader that a bot reads.
"""

import re
from collections.abc import Callable

from markupsafe import Markup

_COMPLEX_SCRIPTS = "\u0590-\u109f\u1700-\u17b3\u17b6-\u180a\u1810-\u1cff\ua800-\uabff"
_PICTURES = "\u2190-\u27ff\u2900-\u2bff\U0001f000-\U0001faff"
_JOINED = f"[{_COMPLEX_SCRIPTS}{_PICTURES}]"
_HAVE_FORMS = (
    f"{_PICTURES}0-9#*\u00a9\u00ae\u1000-\u109f\u203c\u2049\u20e3\u2122\u2139"
    "\u3030\u303d\u3297\u3299\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
HIDDEN = re.compile(
    f"[{_CONTROLS}{_INVISIBLE}]"
    # Persian and Indic words need joiners, and so do many emojis. Elsewhere they hide.
    f"|(?<!{_JOINED})(?<![{_PICTURES}]\ufe0f)[\u200c\u200d]"
    f"|[\u200c\u200d](?!{_JOINED})"
    # A selector chooses a form of an emoji or an ideograph. After other letters, or in
    # a row, selectors hide a message.
    f"|(?<![{_HAVE_FORMS}])[{_SELECTORS}]"
)
"""One letter that a reader cannot see. A tab and a line break are layout."""


def code_point(letter: str) -> str:
    """Return the number of a letter as Unicode writes it, such as `U+202E`."""
    return f"U+{ord(letter):04X}"


def replace_hidden(text: str, mark: Callable[[str], str]) -> str:
    """Return a text with `mark(letter)` in place of each hidden letter."""
    # Most texts are plain, and this look is the fastest.
    if text.isascii() and text.isprintable():
        return text
    return HIDDEN.sub(lambda match: mark(match[0]), text)


def visible(text: str) -> str:
    """Return a text in which hidden letters read `⟨U+202E⟩`."""
    return replace_hidden(text, plain_mark)


def plain_mark(letter: str) -> str:
    """Return the mark of a hidden letter as plain text."""
    return f"⟨{code_point(letter)}⟩"


class Exact(str):
    """A text in which no letter is replaced by a mark. It is escaped like any text."""

    __slots__ = ()


def finalize(value: object) -> object:
    """Returns what a template writes for a value: a text with marks for its hidden letters."""
    # Markup is a text that was made visible before it became HTML.
    if not isinstance(value, str) or isinstance(value, Exact | Markup):
        return value
    return visible(value)
