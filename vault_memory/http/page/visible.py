"""Makes characters visible that would hide or turn around the text beside them."""

import re
import unicodedata

from markupsafe import Markup

from vault_memory.http.page.exact import Exact

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(value: object) -> object:
    """Returns a text with marks in the place of characters that cannot be seen.

    Everything else, an Exact text too, is returned unchanged.
    """
    # Markup is a text that was made visible before it became HTML.
    if not isinstance(value, str) or isinstance(value, Exact | Markup):
        return value
    return _HIDDEN.sub(_mark, value)


def _mark(match: "re.Match[str]") -> str:
    """Returns the mark for one character."""
    character = match.group()
    # Fault: a zero-width joiner inside an emoji is part of its picture, and half of the
    # emojis need it.
    if character == "\u200d" and _joins_symbols(match):
        return character
    return f"⟨U+{ord(character):04X}⟩"


def _joins_symbols(match: "re.Match[str]") -> bool:
    following = match.string[match.end() : match.end() + 1]
    return bool(following) and unicodedata.category(following) in ("So", "Sk")
