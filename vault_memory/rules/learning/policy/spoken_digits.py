"""Writes numbers that are dictated digit by digit in digits. Pure."""

import re
from functools import cache

from vault_memory.rules.search import stopwords

LEAST_SPOKEN = 3
"""Names of digits in a row that are a number: "four four one seven" """
_PIECES = re.compile(r"([\s,.;:!?-]+)")
"""What is between words"""


@cache
def _digits() -> dict[str, str]:
    return {
        name: str(digit) for digit, names in enumerate(stopwords.DIGITS) for name in names.split()
    }


def with_digits(folded: str) -> str:
    """Returns a text in which three or more names of digits in a row are written as a number."""
    digits = _digits()
    words_and_gaps = _PIECES.split(folded)
    words = words_and_gaps[::2]
    written: list[str] = []
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and words[end] in digits:
            end += 1
        if end - start >= LEAST_SPOKEN:
            written.append("".join(digits[word] for word in words[start:end]))
        else:
            end = max(end, start + 1)
            written.append("".join(words_and_gaps[2 * start : 2 * end - 1]))
        written.extend(words_and_gaps[2 * end - 1 : 2 * end])
        start = end
    return "".join(written)
