"""Finding contradictions: all items of a scope against each other, each night."""

import random
import time
from collections.abc import Iterator
from datetime import date

from benchmarks.place import Place
from benchmarks.table import Row
from vault_memory.rules.claims.contrasts import skeleton
from vault_memory.rules.conflicts.contradictions import (
    ConflictRules,
    Statement,
    find_conflicts,
    likely_pairs,
)
from vault_memory.rules.search.tokens import words

ITEMS = 10_000
CONFLICTS = 50
"""Items of which another one is the negation"""
PAIRS = 20
"""About which a model is asked"""
MOST_SECONDS = 0.6
MOST_GROWTH = 2.5
"""Twice as many items may take so many times as long"""
VOCABULARY = 5_000
DAY = date(2026, 5, 25)


def rows(place: Place) -> Iterator[Row]:
    """Two rows: the contradictions by rules, and the pairs that a model is asked about."""
    statements, twice = _statements(ITEMS), _statements(2 * ITEMS)
    rules = ConflictRules(DAY, frozenset())
    start = time.process_time()
    for statement in statements:
        words(statement.words)
    floor = f"{time.process_time() - start:.2f} CPU s: the words of the items"

    found, seconds = _found(statements, rules)
    assert found == CONFLICTS, "each negation contradicts its statement"
    _, doubled = _found(twice, rules)
    yield _row(f"contradictions among {ITEMS:,} items", floor, seconds, doubled)
    yield _row(
        f"{PAIRS} pairs for a model among {ITEMS:,} items",
        floor,
        _seconds_of_pairs(statements),
        _seconds_of_pairs(twice),
    )


def _row(figure: str, floor: str, seconds: float, doubled: float) -> Row:
    growth = doubled / seconds
    return Row(
        figure,
        "–",
        floor,
        f"{seconds:.2f} CPU s; twice as many: {growth:.1f} ×",
        f"≤ {MOST_SECONDS} CPU s, {MOST_GROWTH} ×",
        seconds <= MOST_SECONDS and growth <= MOST_GROWTH,
    )


def _found(statements: list[Statement], rules: ConflictRules) -> tuple[int, float]:
    """Returns the number of conflicts, and the CPU seconds of the first search."""
    skeleton.cache_clear()
    start = time.process_time()
    conflicts = find_conflicts(statements, rules)
    return len(conflicts), time.process_time() - start


def _seconds_of_pairs(statements: list[Statement]) -> float:
    start = time.process_time()
    likely_pairs(statements, (), PAIRS)
    return time.process_time() - start


def _statements(count: int) -> list[Statement]:
    """Returns items of one scope, of which some say the contrary of another one."""
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = [
        "".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(VOCABULARY)
    ]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    texts = [
        " ".join(chance.choices(vocabulary, weights, k=chance.randint(6, 20)))
        for _ in range(count - CONFLICTS)
    ]
    texts += [f"not {text}" for text in texts[:CONFLICTS]]
    return [
        Statement(f"{number:05}", "note.md", "Learned", text, text)
        for number, text in enumerate(texts)
    ]
