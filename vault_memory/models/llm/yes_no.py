"""Reads yes and no, in the languages of the phrase tables."""

import re

_YES = re.compile(r"\W*(?:yes|true|ja|sí|si|oui|да|是)", re.IGNORECASE)
_NO = re.compile(r"\W*(?:no|false|nein|non|нет|否|不)", re.IGNORECASE)


def begins_with_yes(text: str) -> bool:
    """Return whether a text begins with a word for yes."""
    return _YES.match(text) is not None


def begins_with_no(text: str) -> bool:
    """Return whether a text begins with a word for no."""
    return _NO.match(text) is not None
