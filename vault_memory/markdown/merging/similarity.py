"""Compares texts by their words, and pairs the texts that are versions of each other."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise, product
from operator import itemgetter

LIKE = 0.5
"""The share of words that two versions of one unit have in common, at least"""
COMMON = 12
"""A word in more units than this does not help to find a version among many"""
MAX_PAIRS = 10_000
"""Up to so many pairs are all compared; of more pairs only those that share a rare word"""
RARE_WORDS = 4
"""How many of the rarest words of a text are used to find candidates"""

Pair = tuple[int, int]

_words = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\w+").findall
_unspaced = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{3}").match


def words_in(text: str) -> Counter[str]:
    """Return the words of a normalised text; in scripts without blanks all pairs of letters."""
    counts: Counter[str] = Counter()
    for word in _words(text):
        if _unspaced(word):
            counts.update(map("".join, pairwise(word)))
        else:
            counts[word] += 1
    return counts


def likeness(left: Counter[str], right: Counter[str]) -> float:
    """Return the share of words in common, from 0 to 1: their Sørensen–Dice coefficient."""
    total = left.total() + right.total()
    if not total:
        return 0.0
    shared = sum(min(left[word], right[word]) for word in left.keys() & right.keys())
    return 2 * shared / total


def alike(left: str, right: str) -> bool:
    """Return whether two texts may be versions of one text."""
    return likeness(words_in(left), words_in(right)) >= LIKE


def made_of(text: str, olds: Iterable[str]) -> str | None:
    """Return the text that `text` is most likely a version of; of equally alike ones the first."""
    words = words_in(text)
    likes = [(likeness(words_in(old), words), old) for old in olds]
    like, old = max(likes, key=itemgetter(0), default=(0.0, ""))
    return old if like >= LIKE else None


def candidates(olds: dict[int, Counter[str]], news: dict[int, Counter[str]]) -> Iterable[Pair]:
    """Return the pairs of texts that are worth comparing."""
    if len(olds) * len(news) <= MAX_PAIRS:
        return product(olds, news)
    texts_with = _texts_by_word(olds)
    pairs: set[Pair] = set()
    for new, words in news.items():
        shared = [word for word in words if word in texts_with]
        shared.sort(key=lambda word: len(texts_with[word]))
        for word in shared[:RARE_WORDS]:
            if len(texts_with[word]) <= COMMON:
                pairs.update((old, new) for old in texts_with[word])
    return sorted(pairs)


def _texts_by_word(texts: dict[int, Counter[str]]) -> defaultdict[str, list[int]]:
    texts_with: defaultdict[str, list[int]] = defaultdict(list)
    for number, words in texts.items():
        for word in words:
            texts_with[word].append(number)
    return texts_with


def best_pairs(likes: list[tuple[float, int, int]]) -> list[Pair]:
    """Return the pairs that are the best for both texts, the most alike first.

    Of pairs that are equally good for a text none is returned.
    """
    best: list[Pair] = []
    used_olds: set[int] = set()
    used_news: set[int] = set()
    levels: defaultdict[float, list[Pair]] = defaultdict(list)
    for like, old, new in likes:
        levels[like].append((old, new))
    for like in sorted(levels, reverse=True):
        pairs = [
            (old, new) for old, new in levels[like] if old not in used_olds and new not in used_news
        ]
        old_counts = Counter(old for old, _ in pairs)
        new_counts = Counter(new for _, new in pairs)
        best += [(old, new) for old, new in pairs if old_counts[old] == new_counts[new] == 1]
        used_olds.update(old_counts)
        used_news.update(new_counts)
    return best
