"""Chooses pairs of statements that may contradict each other, for a model to judge. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from itertools import combinations

from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.conflicts.contradictions import HAPPENINGS, Statement
from vault_memory.rules.search.tokens import stop_words, words

MOST_WITH_WORD = 20
"""Statements with a word; a more frequent word says little about the subject"""
FEWEST_COMMON = 2
"""Rare words that both statements of a pair have"""
ID_LENGTH = 8


def pair_id(first: str, second: str) -> str:
    """Returns the id of a pair of statements, in whichever order they come."""
    return short_hash(*sorted((first, second)))[:ID_LENGTH]


def likely_pairs(
    statements: Iterable[Statement], asked: Collection[str], most: int
) -> list[tuple[Statement, Statement]]:
    """Returns pairs with common rare words, the most alike first; none that was asked about."""
    candidates = [
        statement
        for statement in statements
        if not statement.is_rule and statement.type not in HAPPENINGS
    ]
    words_of = [_content_words(statement.words) for statement in candidates]
    by_word: dict[str, list[int]] = defaultdict(list)
    for position, content in enumerate(words_of):
        for word in content:
            by_word[word].append(position)
    weights: dict[tuple[int, int], float] = defaultdict(float)
    common: Counter[tuple[int, int]] = Counter()
    for positions in by_word.values():
        if len(positions) > MOST_WITH_WORD:
            continue
        for pair in combinations(positions, 2):
            weights[pair] += 1 / len(positions)
            common[pair] += 1
    ranked = [
        (-weights[pair], pair_id(candidates[pair[0]].id, candidates[pair[1]].id), pair)
        for pair, count in common.items()
        if count >= FEWEST_COMMON and words_of[pair[0]] != words_of[pair[1]]
    ]
    new = sorted(entry for entry in ranked if entry[1] not in asked)
    return [(candidates[a], candidates[b]) for _, _, (a, b) in new[:most]]


def _content_words(text: str) -> frozenset[str]:
    all_words = words(text)
    return frozenset(all_words).difference(stop_words(all_words))
