"""Ways in which a person may have written a text so that it reads the same, and an independent look for any of them."""

import html
import re
import unicodedata

from hypothesis import strategies as st

UNSEEN = ("\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u200e")
WRAPS = (
    "**{}**",
    "*{}*",
    "_{}_",
    "~~{}~~",
    "`{}`",
    "[{}](https://example.org/x)",
    "[[Page|{}]]",
    "<b>{}</b>",
    "=={}==",
)
BLANKS = (" ", "  ", "\t", "\u00a0", "&nbsp;", "&#32;", "\n  ", " \\\n  ", "\u2003")


def _entity(letter: str) -> list[str]:
    named = {"ö": "&ouml;", "Ö": "&Ouml;"}.get(letter)
    return [f"&#{ord(letter)};", f"&#x{ord(letter):x};", *([named] if named else [])]


@st.composite
def spellings(draw: st.DrawFn, text: str) -> str:
    """The text, written otherwise: case, Unicode form, emphasis, links, entities, hyphens, invisible letters."""
    words = []
    for word in text.split(" "):
        word = draw(st.sampled_from([word, word.upper(), word.lower(), word.title()]))
        pieces = [draw(st.sampled_from([one, one, one, *_entity(one)])) for one in word]
        for joints in ((*UNSEEN, "&shy;"), ("", "-", "-\n  ", "\u2010"), ("", "**")):
            at = draw(st.integers(1, len(pieces) - 1))
            pieces[at] = draw(st.sampled_from(joints)) + pieces[at]
        cut = draw(st.integers(1, len(pieces)))
        start, rest = "".join(pieces[:cut]), "".join(pieces[cut:])
        if draw(st.booleans()):
            start = draw(st.sampled_from(WRAPS)).format(start)
        words.append(start + rest)
    whole = words[0]
    for word in words[1:]:
        whole += draw(st.sampled_from(BLANKS)) + word
    return unicodedata.normalize(draw(st.sampled_from(["NFC", "NFD"])), whole)


_GONE = re.compile(
    r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|\]\([^)]*\)|\[\[[^\]|]*\||</?\w+>|[*_~`=\[\]\\>]"
)
_HYPHEN = re.compile(r"(?<=\w)[-\u2010]\s*(?=\w)")


def reads(raw: bytes | str) -> str:
    """What a reader sees in some bytes: in one line, in small letters, with JSON and entities decoded."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text)
    text = re.sub(r"\\[nrt]", " ", text)
    text = unicodedata.normalize("NFC", html.unescape(html.unescape(text)))
    text = _HYPHEN.sub("", _GONE.sub("", text))
    return " ".join(
        unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split()
    )
