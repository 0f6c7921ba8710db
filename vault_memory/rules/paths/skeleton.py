"""Skeletons: how a text looks to a reader, with plain letters for look-alikes and without marks.

Two texts with the same skeleton look the same. A skeleton is for comparison, never for display.
"""

import unicodedata
from functools import lru_cache

from vault_memory.markdown import letters

_CYRILLIC = ("авекмнорстухіјѕԁһԛԝүӏвзгьпԍ", "abekmhopctyxijsdhqwylb3rbnr")
_GREEK = ("αβγεζηικνορτυχωϲϳ", "abyeznikvoptuxwcj")
_LATIN = ("ıɑɡɩɪʏʟɴʀᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢɢʜʙʋѵʌꜱ", "iagiiylnracdejkmoptuvwzghbvvas")
_MARKS = (
    "‹﹤＜❮〈⟨〈˂ᐸ𝈶≺›﹥＞❯〉⟩〉˃ᐳ≻⁄∕⧸／╱⟋\\＼∖⧵⧹﹨|｜│ǀ∣❘⏐￨［﹝〔【⟦］﹞〕】⟧‐‑‒–—―−﹘－‘’‚‛′´`“”„‟″＂",
    "<<<<<<<<<<<>>>>>>>>>>////////////||||||||[[[[[]]]]]---------''''''" + "'" + '""""""',
)
_PLAIN = {
    ord(letter): plain
    for letters, plains in (_CYRILLIC, _GREEK, _LATIN, _MARKS)
    for letter, plain in zip(letters, plains, strict=False)
}
_DROPPED = frozenset({"Cf", "Cc", "Mn", "Me", "Co", "Cn", "Cs"})


def skeleton(text: str) -> str:
    """Returns the skeleton: NFKD, folded, no marks or invisible letters, look-alikes as ASCII.

    Blanks become one blank each; line breaks count as blanks.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.lower().split()).replace("\\", "/").replace("`", "'")
    return " ".join("".join(map(letter_skeleton, text)).split())


def is_invisible(letter: str) -> bool:
    """Returns whether a reader sees nothing of a letter, not even a blank."""
    if letter in letters.INVISIBLE:
        return True
    return unicodedata.category(letter) in _DROPPED and not letter.isspace()


@lru_cache(maxsize=4096)
def letter_skeleton(letter: str) -> str:
    """Returns the skeleton of a letter; a blank for any blank, ``""`` for an invisible letter."""
    if letter.isspace():
        return " "
    composed = unicodedata.normalize("NFKC", letter)
    folded = unicodedata.normalize("NFKD", composed.casefold())
    visible = "".join(char for char in folded if not is_invisible(char))
    return visible.translate(_PLAIN).casefold()
