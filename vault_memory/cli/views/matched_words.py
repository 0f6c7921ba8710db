"""Marks the words of a hit that the query asked for."""

import re
from collections.abc import Callable

from vault_memory.rules.search.tokens import folded, is_run, terms

_WORD = re.compile(r"\w+")
SHORTEST_BEGINNING = 4
"""Letters that two words must share from the first on, to be forms of one word"""
LONGEST_ENDING = 3
"""Letters that one form of a word may have more than another"""


def marker(
    query: str,
    mark: Callable[[str], str],
) -> Callable[[str], str]:
    """Return a function that marks the words of the query, and their other forms, in a text."""
    wanted = [folded(term).strip() for term in terms(query)]
    pairs = [term for term in terms(query) if is_run(term)]

    def marked(match: re.Match[str]) -> str:
        word = match[0]
        if is_run(word):
            return _with_marked_pairs(word, pairs, mark)
        plain = folded(word).strip()
        is_match = any(_is_form(plain, term) for term in wanted)
        return mark(word) if is_match else word

    return lambda text: _WORD.sub(marked, text)


def _is_form(
    word: str,
    term: str,
) -> bool:
    """Return whether two words differ at most in their ending, as `lamp` and `lamps`."""
    if word == term:
        return True
    shared = _shared_letters(word, term)
    if shared < SHORTEST_BEGINNING:
        return False
    longest = max(len(word), len(term))
    return longest - shared <= LONGEST_ENDING


def _with_marked_pairs(
    run: str,
    pairs: list[str],
    mark: Callable[[str], str],
) -> str:
    """Mark the pairs of letters of the query in a run of letters without blanks."""
    if not pairs:
        return run
    # Pairs overlap: those in a row are one match.
    choices = "|".join(map(re.escape, pairs))
    covered: set[int] = set()
    for match in re.finditer(f"(?=({choices}))", run):
        covered.update(range(match.start(1), match.end(1)))
    text = stretch = ""
    for index, letter in enumerate(run):
        if index in covered:
            stretch += letter
            continue
        text += mark(stretch) if stretch else ""
        stretch = ""
        text += letter
    return text + (mark(stretch) if stretch else "")


def _shared_letters(
    word: str,
    term: str,
) -> int:
    count = 0
    for ours, theirs in zip(word, term, strict=False):
        if ours != theirs:
            break
        count += 1
    return count
