"""Guesses whether texts are in English, from their letters and their most common words."""

import re
from collections.abc import Iterable

from vault_memory.rules.search.stopwords import STOP_WORDS

FEWEST_WORDS = 40
"""With fewer words no guess is made"""
OTHER_SCRIPTS_SHARE = 0.3
"""Share of letters of other scripts from which a text is not English"""
MARGIN = 1.25
"""How many times as many common words another language must have"""

_word = re.compile(r"[^\W\d_]+")


def is_english(texts: Iterable[str]) -> bool:
    """Return false when most of the texts are in another language; true when that is not clear."""
    words = [word.lower() for text in texts for word in _word.findall(text)]
    letters = "".join(words)
    # A run of letters without spaces is one word, so letters decide about other scripts.
    others = sum(letter > "\u024f" for letter in letters)
    if others > OTHER_SCRIPTS_SHARE * len(letters) and others >= FEWEST_WORDS:
        return False
    if len(words) < FEWEST_WORDS:
        return True
    counts = {
        language: _common_words(words, frozenset(listed.split()))
        for language, listed in STOP_WORDS.items()
    }
    english = counts.pop("en")
    return max(counts.values(), default=0) <= MARGIN * english


def _common_words(words: Iterable[str], listed: frozenset[str]) -> int:
    return sum(word in listed for word in words)
