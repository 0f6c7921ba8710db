"""How alike two texts are, by their words, and which of many are meant by one another."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from operator import itemgetter

LIKE = 0.5
"""The share of words that two versions of one unit have in common, at least"""
COMMON = 12
"""A word in more units than this tells nothing about which of them is meant, where there are many"""
FEW = 10_000
"""Pairs that are all compared; where there are more, only those that share a rare word"""

_words = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\w+"
).findall
_unspaced = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{3}"
).match


def words_in(text: str) -> Counter[str]:
    """The words of a normalised text; where there are no blanks between them, all pairs of letters."""
    found: Counter[str] = Counter()
    for word in _words(text):
        if _unspaced(word):
            found.update(map("".join, pairwise(word)))
        else:
            found[word] += 1
    return found


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """The share of words in common, from 0 to 1."""
    total = one.total() + other.total()
    return (
        2
        * sum(min(count, other[word]) for word, count in one.items() if word in other)
        / total
        if total
        else 0.0
    )


def alike(one: str, other: str) -> bool:
    """Whether two texts may be two versions of one."""
    return likeness(words_in(one), words_in(other)) >= LIKE


def made_of(text: str, olds: Iterable[str]) -> str | None:
    """The text of which another one is most likely a version; of those that are equally alike the first."""
    words = words_in(text)
    likes = [(likeness(words_in(old), words), old) for old in olds]
    like, old = max(likes, key=itemgetter(0), default=(0.0, ""))
    return old if like >= LIKE else None


def candidates(
    olds: dict[int, Counter[str]], news: dict[int, Counter[str]]
) -> Iterable[tuple[int, int]]:
    if len(olds) * len(news) <= FEW:
        return ((old, new) for old in olds for new in news)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for old, words in olds.items():
        for word in words:
            holders[word].append(old)
    found: set[tuple[int, int]] = set()
    for new, words in news.items():
        rare = sorted(
            (word for word in words if word in holders),
            key=lambda word: len(holders[word]),
        )[:4]
        found.update(
            (old, new)
            for word in rare
            if len(holders[word]) <= COMMON
            for old in holders[word]
        )
    return sorted(found)


def best_pairs(likes: list[tuple[float, int, int]]) -> list[tuple[int, int]]:
    """The pairs that are each the best for both, the likest first; of equally good ones none."""
    best: list[tuple[int, int]] = []
    gone_old: set[int] = set()
    gone_new: set[int] = set()
    levels: defaultdict[float, list[tuple[int, int]]] = defaultdict(list)
    for like, old, new in likes:
        levels[like].append((old, new))
    for like in sorted(levels, reverse=True):
        pairs = [
            (old, new)
            for old, new in levels[like]
            if old not in gone_old and new not in gone_new
        ]
        olds, news = Counter(old for old, _ in pairs), Counter(new for _, new in pairs)
        best += [(old, new) for old, new in pairs if olds[old] == 1 and news[new] == 1]
        gone_old.update(olds)
        gone_new.update(news)
    return best
