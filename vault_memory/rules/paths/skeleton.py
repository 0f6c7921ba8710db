"""How a text looks to a reader: without invisible letters and marks, with look-alike letters as plain ones.

Two texts with the same skeleton read alike, whatever their bytes. A skeleton is for comparing, never for showing.
"""

import unicodedata
from functools import lru_cache

_CYRILLIC = ("авекмнорстухіјѕԁһԛԝүӏвзгьпԍ", "abekmhopctyxijsdhqwylb3rbnr")
_GREEK = ("αβγεζηικνορτυχωϲϳ", "abyeznikvoptuxwcj")
_LATIN = ("ıɑɡɩɪʏʟɴʀᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢɢʜʙʋѵʌꜱ", "iagiiylnracdejkmoptuvwzghbvvas")
_MARKS = (
    "‹﹤＜❮〈⟨〈˂ᐸ𝈶≺›﹥＞❯〉⟩〉˃ᐳ≻⁄∕⧸／╱⟋\\＼∖⧵⧹﹨|｜│ǀ∣❘⏐￨［﹝〔【⟦］﹞〕】⟧‐‑‒–—―−﹘－‘’‚‛′´`“”„‟″＂",
    "<<<<<<<<<<<>>>>>>>>>>////////////||||||||[[[[[]]]]]---------''''''"
    + "'"
    + '""""""',
)
_PLAIN = {
    ord(letter): plain
    for letters, plains in (_CYRILLIC, _GREEK, _LATIN, _MARKS)
    for letter, plain in zip(letters, plains, strict=False)
}
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_DROPPED = frozenset({"Cf", "Cc", "Mn", "Me", "Co", "Cn", "Cs"})


def skeleton(text: str) -> str:
    """Folded for comparison: NFKD, case-folded, no marks, no invisible letters, look-alikes as ASCII.

    Blanks become one blank each; line breaks count as blanks.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.lower().split()).replace("\\", "/").replace("`", "'")
    return " ".join("".join(map(letter_skeleton, text)).split())


def is_invisible(letter: str) -> bool:
    """Whether a reader sees nothing of a letter, not even a blank."""
    return letter in _INVISIBLE or (
        unicodedata.category(letter) in _DROPPED and not letter.isspace()
    )


@lru_cache(maxsize=4096)
def letter_skeleton(letter: str) -> str:
    """What a reader sees of one letter; a blank for any blank, nothing for what nobody sees."""
    if letter.isspace():
        return " "
    folded = unicodedata.normalize(
        "NFKD", unicodedata.normalize("NFKC", letter).casefold()
    )
    seen = (one for one in folded if not is_invisible(one))
    return "".join(_PLAIN.get(ord(one), one) for one in seen).casefold()
