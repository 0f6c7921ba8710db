"""Keys of statements: texts that differ only in form have one key. Pure.

Type, quote, metadata, case, punctuation, forms of letters and smileys at an edge do not count. Signs that change a
meaning do: ``C#``, ``100%``, ``-5``, ``1.5`` and ``a@example.org`` stay as they are.
"""

import re
import unicodedata
from hashlib import sha256

from vault_memory.markdown.items import parse_text

KEY_LENGTH = 16
"""Hex digits of a key"""

_PLAIN = re.compile(r"[a-z0-9 ]*")
_SMILEY = r"[\s\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]+"
_SMILEYS = re.compile(rf"^{_SMILEY}|{_SMILEY}$")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_SIGNS = re.compile(
    # Within 1.5, 18:30, 1,000 and example.org a sign belongs to the word.
    r"(?<=[a-z0-9])[.:_-](?=[a-z0-9])|(?<=\d),(?=\d)|(?<!\S)-(?=\d)"
    r"|(?P<outer>[^\w\s#%&@+/\\]|_)"
)


def content_key(scope: str, text: str) -> str:
    """Returns the key of an item's text; it never equals a key of another scope."""
    content = f"{scope}\n{bare_statement(parse_text(text).text)}"
    return sha256(content.encode("utf-8", "replace")).hexdigest()[:KEY_LENGTH]


def bare_statement(statement: str) -> str:
    """Returns a text without case and punctuation; texts that are the same have the same.

    `statement` has no type, quote or metadata. A text of punctuation alone keeps it.
    """
    bare = folded = statement.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", folded).casefold()
        # Folding the case can give letters that are not composed.
        folded = unicodedata.normalize("NFKC", folded)
        # Fault: "we won 🎉" would be another statement than "we won". A smiley alone stays.
        bare = folded = _SMILEYS.sub("", folded) or folded
    if not _PLAIN.fullmatch(folded):
        bare = _SIGNS.sub(_without_punctuation, _APOSTROPHE.sub("", folded))
    return " ".join(bare.split()) or " ".join(folded.split())


def _without_punctuation(match: re.Match[str]) -> str:
    """Returns a blank for punctuation. Signs within a word and symbols such as € stay."""
    sign = match[0]
    is_punctuation = unicodedata.category(sign).startswith("P")
    return " " if match["outer"] and is_punctuation else sign
