"""Whether a vault has anything to say to somebody who did not search, but only wrote a prompt.

A search gives its best, however little that is. A prompt that is about something else is to be given nothing: so one of
the best chunks must have a good part of what some sentence of the prompt is about, the rare words counting more, or be
of a day that the prompt names, or be far more like the prompt than the vault is on the whole. One that does vouches for
the others: what answers a question often stands beside its words.
"""

from collections.abc import Mapping, Sequence

from vault_memory.index import fts_search, term_volumes
from vault_memory.rules.conversations import statements
from vault_memory.rules.search import query_features, tokens
from vault_memory.rules.search.greetings import asks_nothing
from vault_memory.rules.search.scoring import LOWEST
from vault_memory.search.candidates import Candidates, Request
from vault_memory.search.fusion import Ranked

PART = 0.4
"""Of the weight of a sentence's words, so much is a good part of it"""
ENOUGH = 2.0
"""Of a long sentence, the weight of so many of its rarest words is enough"""
UNKNOWN_PAIR = 0.25
"""What a pair of letters weighs that stands nowhere: it may reach from one word into the next"""
YOUNG = 5
"""In a vault of so many chunks, an unknown word weighs half: it is unknown because little was written yet"""
LOOKED_AT = 20
"""So many of the best chunks"""
MORE_ALIKE = 0.3
"""Cosines above the middle of the vault that say by themselves that a chunk has to do with the prompt"""


class RelevanceGate:
    """For one search."""

    def __init__(self, request: Request, found: Candidates) -> None:
        self._request, self._found = request, found
        self._around = fts_search.within_scopes(request.connection, request.scope_ids)
        chunks = (
            term_volumes.of(request.connection, request.scope_ids).chunks
            - found.without.volume.chunks
        )
        self._unknown = chunks / (chunks + YOUNG)
        self._sentences = [
            weighed for one in request.sentences if (weighed := self._weighed(one))
        ]
        self._alike = _alike(found)

    def is_open(self, best: Sequence[Ranked]) -> bool:
        """Whether one of these has to do with the prompt."""
        return any(self._lets(place) for _, place, _ in best[:LOOKED_AT])

    def _lets(self, place: int) -> bool:
        if self._request.asked.days and query_features.is_near(
            self._found.rows[place][2], self._request.asked.days
        ):
            return True
        return place in self._alike or (
            not self._tells_nothing(place) and self._has_words(place)
        )

    def _has_words(self, place: int) -> bool:
        """Whether the chunk has enough of the words, or answers a question that has them."""
        asked = [
            at
            for at in (place - 1, place - 2)
            if at in self._found.asked_before or self._tells_nothing(at)
        ]
        return any(
            self._says_enough(at, weights)
            for at in (place, *asked)
            for weights in self._sentences
        )

    def _tells_nothing(self, place: int) -> bool:
        """Whether the chunk is a turn that only asks, or answers nothing: a prompt gains nothing by it."""
        row = self._found.rows.get(place)
        return row is not None and statements.tells_nothing(row[4], row[3])

    def _says_enough(self, place: int, weights: Mapping[str, float]) -> bool:
        highest, total = max(weights.values()), sum(weights.values())
        by_word = self._found.by_word
        has = sum(
            weight for word, weight in weights.items() if place in by_word.get(word, ())
        )
        if place in self._found.arms.get("entity", ()):
            has += highest
        return has > 0 and has >= min(PART * total, ENOUGH * highest)

    def _weighed(self, sentence: Sequence[str]) -> dict[str, float]:
        """What each word of a sentence weighs; nothing when it asks nothing."""
        stop = tokens.stop_words(list(sentence))
        said = [word for word in sentence if word not in stop]
        if asks_nothing(said):
            return {}
        best = {word: self._best(word) for word in said}
        known = {word: score for word, score in best.items() if score}
        highest = max(known.values(), default=1.0)
        return {
            word: known[word] if word in known else self._absent(word) * highest
            for word in said
        }

    def _best(self, word: str) -> float:
        """The highest score of a word; a turn that repeats the prompt makes no word a known one."""
        scores, apart = self._found.by_word.get(word, {}), self._found.asked_before
        return max(
            (score for place, score in scores.items() if place not in apart),
            default=0.0,
        )

    def _absent(self, word: str) -> float:
        """Of a word that was not found: a frequent one weighs nothing, an unknown one as much as the rarest.

        In a young vault an unknown word weighs less.
        """
        if fts_search.has(
            self._request.connection, word, self._around, self._found.without.ids
        ):
            return 0.0
        return self._unknown * (UNKNOWN_PAIR if tokens.is_run(word) else 1.0)


def _alike(found: Candidates) -> frozenset[int]:
    """The places whose cosine is far above that of the middle one, which follows from two of the scaled values."""
    known = {
        at: found.likeness[at][0]
        for at in found.cosines
        if found.likeness.get(at, (LOWEST,))[0] > LOWEST
    }
    if len(known) < 2:
        return frozenset()
    ranked = sorted(
        (value, found.cosines[place], place) for place, value in known.items()
    )
    least, best = ranked[0][2], ranked[-1][2]
    if known[best] == known[least]:
        return frozenset()
    span = (found.cosines[best] - found.cosines[least]) / (known[best] - known[least])
    middle = found.cosines[best] - known[best] * span
    return frozenset(at for at in known if found.cosines[at] - middle >= MORE_ALIKE)
