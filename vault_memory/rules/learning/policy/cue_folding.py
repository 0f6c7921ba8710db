"""The form in which texts and the phrases of the policy are compared. Pure."""

import re
import unicodedata

_LAUGHING = re.compile("[\N{FACE WITH TEARS OF JOY}\N{ROLLING ON THE FLOOR LAUGHING}]")


def fold(text: str) -> str:
    """Returns a text as phrases are compared: without case, and with plain apostrophes."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = text.replace("’", "'").replace("‘", "'").replace("`", "'")
        text = text.replace("ё", "е").replace("Ё", "Е")
        # Laughter in a picture is laughter in a word.
        text = _LAUGHING.sub(" haha ", text)
    return text.lower()
