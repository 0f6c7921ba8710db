"""Finds items that already say what a new text says. Pure.

Most items share no rare word with a new text. So an inverted index over the rarest words of each
item finds the few to compare: two sets of words with a similarity of 0.85 share one of the rarest
words of each. The order of rarity must be the same for all items of an index.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from math import ceil
from typing import Literal, NamedTuple

from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.items import parse_item, parse_text
from vault_memory.markdown.letters import folded
from vault_memory.markdown.visible_text import visible
from vault_memory.rules.claims.equivalence import are_rivals, bare_statement, is_relative
from vault_memory.rules.search.tokens import stop_words, without_last_letters, words
from vault_memory.rules.sentences.fillers import Fillers

Relation = Literal["same", "near", "close", "larger", "rival"]
"""A rival is kept beside the new text; in the other relations one text stands for both"""

JACCARD = 0.85
"""The similarity of words from which two texts are near"""
FEWEST_WORDS = 4
"""Texts with fewer words are near only when one contains the other"""
FEWEST_CONTAINED = 3
"""Words of the shortest statement that a longer one can contain"""
MOST_MORE = 3
"""Words that a statement may have more than the one that it repeats"""
CLOSE = 0.95
"""The cosine from which two texts are close, whatever their words"""
SIMILAR = 0.85
"""The cosine from which they are close if one has most words of the other"""
MOST_WORDS = 0.9
"""The share of a text's words that is most of them"""
LOST = 0.3
"""The confidence of an item that a rival replaced"""

CACHED = 512
"""Texts of which the compared form is cached: several steps compare the same lines"""

_ORDER = ("same", "near", "close", "larger", "rival")
_ROUNDING = 1e-9


class Compared(NamedTuple):
    """An item in the form in which items are compared."""

    statement: str
    """without type, quote and metadata"""
    bare: str
    words: frozenset[str]
    day: date | None = None
    until: date | None = None
    lost: bool = False
    """a rival replaced it"""
    confirmed: bool = False
    """by a person"""
    spoken: str = ""
    """`bare` without fillers before it"""
    core: tuple[str, ...] = ()
    """the words without fillers and tails, in order"""


@dataclass(frozen=True, slots=True)
class Twin:
    """An item that resembles a new text."""

    position: int
    """of the item, in the order in which items were added"""
    relation: Relation
    replaces: bool = False
    """the new text says all that the item says, and more"""

    @property
    def is_duplicate(self) -> bool:
        """Whether one of both texts is enough."""
        return self.relation != "rival"


class TwinIndex:
    """Items of one scope; finds the twin of a new text without comparing it with each item."""

    def __init__(self, texts: Iterable[str] = (), *, contained: bool = True) -> None:
        """`contained`: a text that has all words of another one, and few more, repeats it."""
        self._contained = contained
        self._items = [compared(text) for text in texts]
        self._frequency = Counter(word for item in self._items for word in item.words)
        self._by_bare: dict[str, list[int]] = defaultdict(list)
        self._by_rare_word: dict[str, list[int]] = defaultdict(list)
        self._by_core: dict[frozenset[str], list[int]] = defaultdict(list)
        self._shorter: dict[str, list[int]] = defaultdict(list)
        self._longer: dict[str, list[int]] = defaultdict(list)
        """positions by the words under which a text that contains another one meets it"""
        for position, item in enumerate(self._items):
            self._enter(position, item)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, text: str) -> int:
        """Adds an item and returns its position."""
        position = len(self._items)
        self._items.append(compared(text))
        self._enter(position, self._items[position])
        return position

    def find(self, text: str, cosines: Mapping[int, float] | None = None) -> Twin | None:
        """Returns the best twin of a text; the first item wins among equal ones.

        `cosines`: of the text's vector and those of items, by position.
        """
        new = compared(text)
        cosines = cosines or {}
        positions = {
            *self._by_bare.get(new.bare, ()),
            *(
                position
                for word in self._rarest(new.words)
                for position in self._by_rare_word.get(word, ())
            ),
            *self._containing(new),
        }
        twins = (
            self._twin_at(position, new, cosines.get(position))
            for position in sorted(positions.union(cosines))
        )
        return min(filter(None, twins), key=_rank, default=None)

    def _twin_at(self, position: int, new: Compared, cosine: float | None) -> Twin | None:
        item = self._items[position]
        relation = relation_of(new, item, cosine=cosine, contained=self._contained)
        if relation is None:
            return None
        has_more = relation == "near" and _says_more(new, item)
        return Twin(position, relation, has_more or relation == "larger")

    def _enter(self, position: int, item: Compared) -> None:
        self._by_bare[item.bare].append(position)
        for word in self._rarest(item.words):
            self._by_rare_word[word].append(position)
        self._by_core[frozenset(item.core)].append(position)
        rarest = self._rarest_of_core(item)
        for word in rarest[:1]:
            self._shorter[word].append(position)
        for word in rarest:
            self._longer[word].append(position)

    def _containing(self, new: Compared) -> Iterable[int]:
        """Yields the items that may contain the text, or be contained in it."""
        yield from self._by_core.get(frozenset(new.core), ())
        rarest = self._rarest_of_core(new)
        for word in rarest[:1]:
            yield from self._longer.get(word, ())
        for word in rarest:
            yield from self._shorter.get(word, ())

    def _rarest_of_core(self, item: Compared) -> list[str]:
        """Returns the words of which the rarest word of a contained text is one.

        What a text has more than the contained one may be rarer than all its words.
        """
        if len(item.core) < FEWEST_CONTAINED:
            return []
        return self._by_rarity(frozenset(item.core))[: MOST_MORE + 1]

    def _rarest(self, item_words: frozenset[str]) -> list[str]:
        """Returns the words of which a near item has at least one among its own rarest."""
        count = len(item_words)
        if count < FEWEST_WORDS:
            return []
        common = ceil(JACCARD * count - _ROUNDING)
        return self._by_rarity(item_words)[: count - common + 1]

    def _by_rarity(self, item_words: frozenset[str]) -> list[str]:
        return sorted(item_words, key=lambda word: (self._frequency[word], word))


@lru_cache(maxsize=CACHED)
def compared(text: str) -> Compared:
    """Returns an item in the form in which items are compared."""
    fields = parse_text(text)
    bare = bare_statement(visible(fields.text))
    # Fault: "As I said, answer in grams" would be another rule than "Answer in grams".
    spoken = _fillers().without_fillers(bare)
    core = without_last_letters(words(_fillers().without_tails(spoken)))
    return Compared(
        fields.text,
        bare,
        frozenset(without_last_letters(words(bare))),
        fields.date,
        fields.until,
        fields.conf <= LOST,
        fields.confirmed,
        spoken,
        tuple(core),
    )


@cache
def _fillers() -> Fillers:
    return Fillers(bare_statement)


def is_lost(text: str) -> bool:
    """Returns whether a newer statement replaced an item."""
    return "conf:" in text and parse_item(text).conf <= LOST


def may_have_twin(new: Compared, note: str) -> bool:
    """Returns whether a note has enough words of a text for an item that says the same."""
    if not new.words:
        return True
    # Apostrophes do not count: `don't` is one word.
    note = folded(note).replace("'", "")
    common = new.words.intersection(words(note))
    least = min(JACCARD * len(new.words), len(set(new.core)) - MOST_MORE)
    return len(common) >= least - _ROUNDING


def relation_of(
    new: Compared, item: Compared, *, cosine: float | None = None, contained: bool = True
) -> Relation | None:
    """Returns how a new text relates to an item; None: it says something else."""
    if new == item:
        return "same"
    # A statement of today is true again although it ended, or lost to another one, before.
    if item.lost != new.lost or _has_ended(item, new) or _has_ended(new, item):
        return None
    similar = _similarity(new, item, cosine)
    if contained:
        similar = similar or _repetition(new, item)
    if similar is None:
        return None
    return "rival" if _is_another(new, item, similar) else similar


def _is_another(new: Compared, item: Compared, similar: Relation) -> bool:
    """Returns whether a similar text is another statement, by its day or by what it names."""
    # Fault: "from today on, answer in grams" is the same rule on each day.
    if new.day != item.day and is_relative(new.spoken):
        return True
    return similar != "same" and are_rivals(new.statement, item.statement)


def _similarity(new: Compared, item: Compared, cosine: float | None) -> Relation | None:
    """Returns how alike two texts are, whatever distinguishes them."""
    if new.bare == item.bare:
        return "same"
    fewest = min(len(new.words), len(item.words))
    common = len(new.words & item.words)
    either = len(new.words) + len(item.words) - common
    if fewest >= FEWEST_WORDS and common >= JACCARD * either - _ROUNDING:
        return "near"
    return _similarity_of_vectors(new, item, cosine)


def _similarity_of_vectors(new: Compared, item: Compared, cosine: float | None) -> Relation | None:
    common = len(new.words & item.words)
    if cosine is None or cosine < SIMILAR or not (new.words and item.words):
        return None
    if cosine >= CLOSE or common >= MOST_WORDS * len(new.words):
        return "close"
    return "larger" if common >= MOST_WORDS * len(item.words) else None


def _repetition(new: Compared, item: Compared) -> Relation | None:
    """Returns "near" when one statement has all words of the other in their order, and few more."""
    shorter, longer = sorted((new.core, item.core), key=len)
    if shorter == longer:
        return "near" if shorter else None
    if len(shorter) < FEWEST_CONTAINED or len(longer) - len(shorter) > MOST_MORE:
        return None
    # Fault: "Tom likes Ann" has the words of "Ann likes Tom".
    remaining = iter(longer)
    return "near" if all(word in remaining for word in shorter) else None


def _has_ended(item: Compared, new: Compared) -> bool:
    """Returns whether an item's validity ended before the day of another one."""
    return bool(item.until and new.day and item.until < new.day)


def _says_more(new: Compared, item: Compared) -> bool:
    """Returns whether a near text has all words of an item, and more that say something."""
    more = frozenset(new.core).difference(item.core)
    if not frozenset(item.core).issubset(new.core):
        return False
    # Fault: "Always answer me in grams" would be another rule than "Always answer in grams".
    empty = stop_words(sorted(new.words)) | _fillers().words
    return not more <= empty


def _rank(twin: Twin) -> int:
    return _ORDER.index(twin.relation)


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
