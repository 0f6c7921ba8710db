"""Finding twins: the new texts of a night against the items of a scope."""

import random
import time
from collections.abc import Iterator

from benchmarks.place import Place
from benchmarks.table import Row
from vault_memory.rules.learning.twins import TwinIndex, twin
from vault_memory.rules.search.tokens import words

ITEMS = 10_000
CANDIDATES = 1_000
PAIRWISE = 20
"""Candidates that are compared with all items, for the floor"""
COLD_SECONDS, WARM_SECONDS = 0.6, 0.15
VOCABULARY = 5_000


def rows(place: Place) -> Iterator[Row]:
    """With the index of items built first, and with one that is there already."""
    items, candidates = _texts()
    peer = "none compares new items with old ones by words"
    start = time.process_time()
    for item in items:
        words(item)
    floor = time.process_time() - start

    start = time.process_time()
    index = TwinIndex(items)
    built = time.process_time() - start
    start = time.process_time()
    matches = sum(index.find(text) is not None for text in candidates)
    warm = time.process_time() - start
    assert matches >= CANDIDATES // 2, "every second candidate repeats an item"

    start = time.process_time()
    for text in candidates[:PAIRWISE]:
        twin(text, items[: ITEMS // 10])
    pairwise = (time.process_time() - start) * 10 * CANDIDATES / PAIRWISE

    for name, seconds, most in (("cold", built + warm, COLD_SECONDS), ("warm", warm, WARM_SECONDS)):
        yield Row(
            f"1,000 candidates, 10,000 items, {name}",
            f"{peer}; each with each: {pairwise:.0f} CPU s",
            f"{floor:.2f} CPU s: the words of the items",
            f"{seconds:.2f} CPU s",
            f"≤ {most} CPU s",
            seconds <= most,
        )


def _texts() -> tuple[list[str], list[str]]:
    """Returns items with metadata, and candidates of which half repeat an item."""
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = [
        "".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(VOCABULARY)
    ]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]

    def text(number: int) -> str:
        chosen = chance.choices(vocabulary, weights, k=chance.randint(6, 20))
        sentence = " ".join(chosen).capitalize()
        return f"[preference] {sentence} (2026-05-25, ref:t{number}, topic:work)"

    items = [text(number) for number in range(ITEMS)]
    new = [text(ITEMS + number) for number in range(CANDIDATES // 2)]
    return items, [*chance.sample(items, CANDIDATES // 2), *new]
