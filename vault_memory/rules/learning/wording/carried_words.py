"""How many words of a statement a text has, other endings included: one measure for all readers. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import ceil

from vault_memory.rules.search.tokens import is_run

CARRIED_SHARE = 0.6
"""Of the content words of a statement: how many a text has to carry that says it"""
SHORTEST_STEM = 3
STEM_SHARE = 0.6
"""Two words count as one when they begin alike for this share of the longer one"""

Stems = Mapping[str, list[str]]
"""The words of a text by their first letters"""


def stems_of(tokens: Iterable[str]) -> Stems:
    """Returns the words of a text, ready to be looked up."""
    stems: dict[str, list[str]] = defaultdict(list)
    for token in set(tokens):
        stems[token[:SHORTEST_STEM]].append(token)
    return dict(stems)


def has_word(word: str, stems: Stems) -> bool:
    """Returns whether a text has a word, perhaps with another ending."""
    candidates = stems.get(word[:SHORTEST_STEM], ())
    # Fault: the last sign of a run is a word of its own, but within a longer run it is none:
    # "花生" would not be carried by "我对花生过敏".
    if is_run(word) and len(word) == 1:
        return any(stem.startswith(word) for stem in stems)
    if is_run(word):
        return word in candidates
    return any(_begin_alike(word, candidate) for candidate in candidates)


def count_carried(content: Iterable[str], stems: Stems) -> int:
    """Returns how many of the words a text has."""
    return sum(has_word(word, stems) for word in content)


def carried_share(content: Collection[str], stems: Stems) -> float:
    """Returns the share of the words that a text has; 1 without any word."""
    return count_carried(content, stems) / len(content) if content else 1.0


def _begin_alike(first: str, second: str) -> bool:
    length = max(SHORTEST_STEM, ceil(STEM_SHARE * max(len(first), len(second))))
    return first == second or first[:length] == second[:length]
