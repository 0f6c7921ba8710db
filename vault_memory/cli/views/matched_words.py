"""Marks the words of a hit that the query asked for."""

import re
from collections.abc import Callable

from vault_memory.rules.search.tokens import folded, is_run, terms

_WORD = re.compile(r"\w+")
_NOTHING = re.compile(r"(?!)")
SHORTEST_BEGINNING = 4
"""Letters that two words must share from the first on, to be forms of one word"""
LONGEST_ENDING = 3
"""Letters that one form of a word may have more than another"""


def marker(query: str, mark: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that marks the words of the query, and their other forms, in a text."""
    query_terms = terms(query)
    plain_terms = [folded(term).strip() for term in query_terms]
    pairs = _pairs_pattern(query_terms)

    def marked(match: re.Match[str]) -> str:
        word = match[0]
        # A script without blanks: only some letters of such a run match.
        if is_run(word):
            return pairs.sub(lambda letters: mark(letters[0]), word)
        plain = folded(word).strip()
        is_match = any(_is_form(plain, term) for term in plain_terms)
        return mark(word) if is_match else word

    return lambda text: _WORD.sub(marked, text)


def _is_form(word: str, term: str) -> bool:
    """Return whether two words differ at most in their ending, as `lamp` and `lamps`."""
    longest = max(len(word), len(term))
    # Fault: short words that begin alike, as `key` and `keel`, are different words.
    beginning = max(SHORTEST_BEGINNING, longest - LONGEST_ENDING)
    return word[:beginning] == term[:beginning]


def _pairs_pattern(query_terms: list[str]) -> re.Pattern[str]:
    """Return a pattern of the letters in a run that belong to a pair of the query."""
    pairs = [term for term in query_terms if is_run(term)]
    if not pairs:
        return _NOTHING
    choices = "|".join(map(_pair_pattern, pairs))
    return re.compile(f"(?:{choices})+")


def _pair_pattern(pair: str) -> str:
    # Pairs overlap, so each of the two letters is matched by itself.
    first, last = re.escape(pair[:1]), re.escape(pair[1:])
    if not last:
        return first
    return f"{first}(?={last})|(?<={first}){last}"
