"""A command line that a person is still typing, as its shell splits it."""

import shlex
from typing import NamedTuple


class TypedLine(NamedTuple):
    """A command line up to the cursor."""

    before: list[str]
    """The complete words, without the name of the program"""
    word: str
    """The word at the cursor; empty after a space"""
    quote: str = ""
    """The quotation mark that is open at the cursor"""


def split(text: str) -> TypedLine:
    """Split a line. A quotation mark may still be open at its end."""
    for quote in ("", '"', "'"):
        try:
            words = shlex.split(text + quote)
        except ValueError:
            # Another mark is open, or the last letter is a backslash.
            continue
        if not quote and text[-1:].isspace() and not text.endswith("\\ "):
            words.append("")
        return TypedLine(words[1:-1], words[-1], quote)
    return split(text[:-1])
