"""Compares the vectors of new lines with those of similar items, for twins in other words. Pure."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from vault_memory.errors import VaultMemoryError
from vault_memory.rules.learning.twins import compared
from vault_memory.rules.search.tokens import stop_words

NEIGHBOURS = 8
"""Items with most words of a line, whose vectors are compared"""
MOST_TEXTS = 400
"""Texts that are embedded in one cycle; further lines are compared by their words alone"""
MOST_FREQUENT = 0.05
"""The share of items from which a word says nothing about an item"""

Embed = Callable[[Sequence[str]], Sequence[bytes]]
"""Returns vectors of unit length, as float32"""


class VectorTwins:
    """Embeds a line and the items that share its rarer words."""

    def __init__(self, texts: Sequence[str], embed: Embed) -> None:
        self._statements = [compared(text).statement for text in texts]
        self._embed = embed
        self._vectors: dict[str, array[float]] = {}
        self._by_word: dict[str, list[int]] = defaultdict(list)
        for position, text in enumerate(texts):
            for word in compared(text).words:
                self._by_word[word].append(position)

    def cosines(self, text: str) -> Mapping[int, float]:
        """Returns the cosines of a line's vector and those of items, by the items' positions."""
        statement = compared(text).statement
        positions = self._neighbours(text)
        statements = [statement, *(self._statements[position] for position in positions)]
        if not positions or not self._embed_new(statements):
            return {}
        vector = self._vectors[statement]
        return {
            position: _dot(vector, self._vectors[self._statements[position]])
            for position in positions
        }

    def _neighbours(self, text: str) -> list[int]:
        """Returns the items with most of the line's content words."""
        line_words = compared(text).words
        most = max(NEIGHBOURS, MOST_FREQUENT * len(self._statements))
        counts: Counter[int] = Counter()
        for word in line_words - stop_words(sorted(line_words)):
            positions = self._by_word.get(word, ())
            if len(positions) <= most:
                counts.update(positions)
        best = sorted(counts, key=lambda position: (-counts[position], position))
        return best[:NEIGHBOURS]

    def _embed_new(self, statements: Sequence[str]) -> bool:
        """Embeds those that have no vector yet. Returns whether all have one."""
        new = [text for text in dict.fromkeys(statements) if text not in self._vectors]
        if len(self._vectors) + len(new) > MOST_TEXTS:
            return False
        try:
            vectors = self._embed(new) if new else []
        except VaultMemoryError:
            # The model server may go away during the night: words are compared without it.
            return False
        for text, vector in zip(new, vectors, strict=True):
            self._vectors[text] = array("f", vector)
        return True


def _dot(first: "array[float]", second: "array[float]") -> float:
    return sum(map(float.__mul__, first, second))
