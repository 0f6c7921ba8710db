"""Decides which lines of a vault are related to a prompt that is no search.

A search returns its best lines, however weak they are. A prompt about another subject must get
no lines. So each line must have a good share of the words of some sentence, where rare words count
more; or be the answer to a question that has them; or be far more like the prompt than the vault
in general; or be of a day about which the prompt asks. A turn of the bot needs a word of the
prompt in any case.
"""

from collections.abc import Mapping, Sequence

from vault_memory.index import fts_search
from vault_memory.rules.conversations import request_words, statements
from vault_memory.rules.conversations.request_words import asks_nothing
from vault_memory.rules.search import query_features, tokens
from vault_memory.rules.search.date_expressions import is_date_word
from vault_memory.rules.search.scoring import LOWEST
from vault_memory.search.candidates import CandidateRequest, Candidates
from vault_memory.search.fusion import Ranked

SHARE, SURE_SHARE = 0.4, 0.3
"""Of the weight of a sentence's words: a good share, and the least of a hit that may answer"""
ENOUGH = 2.0
"""Of a long sentence, the weight of so many of its rarest words suffices"""
UNKNOWN_PAIR = 0.25
"""Weight of an unknown pair of letters, which may reach from one word into the next"""
YOUNG = 5
"""In a vault of so many chunks an unknown word weighs half: little was written yet"""
MORE_ALIKE = 0.3
"""Cosine above the middle of the vault that alone makes a chunk related"""


class RelevanceGate:
    """The decision for one search."""

    def __init__(
        self, request: CandidateRequest, candidates: Candidates, share: float = SHARE
    ) -> None:
        self._share = share
        self._request = request
        self._candidates = candidates
        self._scope_terms = fts_search.within_scopes(request.store, request.scope_ids)
        volume = fts_search.volume_of(request.store, request.scope_ids)
        chunks = volume.chunks - candidates.without.volume.chunks
        self._unknown_weight = chunks / (chunks + YOUNG)
        self._asks_for_day = query_features.asks_for_a_day(request.features)
        weighed = map(self._word_weights, request.sentences)
        # The words of each sentence that asks something, with their weights.
        self.sentences = [weights for weights in weighed if weights]
        self._similar = _similar(candidates)

    def related(self, ranked: Sequence[Ranked]) -> list[Ranked]:
        """Returns the best candidates that are related to the prompt."""
        return [candidate for candidate in ranked if self.is_related(candidate[1])]

    def is_related(self, place: int) -> bool:
        """Whether a candidate is related to the prompt."""
        _, _, day, who, _ = self._candidates.rows[place]
        days = self._request.features.named_days
        if self._asks_for_day and query_features.is_near(day, days):
            return not self._says_nothing(place)
        # Fault: the empty phrases of the bot would be taken for answers.
        if statements.is_bot(who) and not self._has_any_word(place):
            return False
        if place in self._similar or self._has_words(place):
            return not self._says_nothing(place)
        return self._answers(place) and not self._says_nothing(place)

    def _has_any_word(self, place: int) -> bool:
        """Whether the chunk itself has a word of the prompt that has weight."""
        return any(
            weight and place in self._candidates.by_word.get(word, ())
            for weights in self.sentences
            for word, weight in weights.items()
        )

    def _has_words(self, place: int) -> bool:
        """Whether the chunk has enough of the words of some sentence."""
        return any(self._has_enough(place, weights) for weights in self.sentences)

    def _answers(self, place: int) -> bool:
        """Whether the chunk follows a question that has enough of the words.

        Between them may be a turn that says nothing.
        """
        for question in (place - 1, place - 2):
            asks = self._is_question(question)
            if asks and self._has_words(question):
                return True
            if not asks:
                return False
        return False

    def _is_question(self, place: int) -> bool:
        return place in self._candidates.asked_before or self._says_nothing(place)

    def _says_nothing(self, place: int) -> bool:
        """Whether the chunk is a turn that only asks, or an empty answer."""
        row = self._candidates.rows.get(place)
        if row is None:
            return False
        if statements.is_bot(row[3]):
            before = self._candidates.rows.get(place - 1)
            question = before[4] if before else ""
            names = self._request.features.names
            if statements.only_serves(row[4], names, question):
                return True
        return statements.tells_nothing(row[4], row[3])

    def _has_enough(self, place: int, weights: Mapping[str, float]) -> bool:
        highest = max(weights.values())
        total = sum(weights.values())
        enough = min(self._share * total, ENOUGH * highest)
        weight = 0.0
        for word, word_weight in weights.items():
            if place in self._candidates.by_word.get(word, ()):
                weight += word_weight
        if place in self._candidates.arms.get("entity", ()):
            weight += highest
        # All words of a sentence may be without weight; then nothing would be enough.
        return weight > 0 and weight >= enough

    def _word_weights(self, sentence: Sequence[str]) -> dict[str, float]:
        """Weighs each word of a sentence. Empty when the sentence asks nothing."""
        stop_words = tokens.stop_words(list(sentence))
        words = [word for word in sentence if word not in stop_words]
        # Fault: "tonight" says when, and lines that have the word are about anything.
        if self._request.features.named_days:
            words = [word for word in words if not is_date_word(word)]
        if asks_nothing(words):
            return {}
        # Fault: "lemme see" and "I need" would weigh more than a frequent topic.
        words = request_words.without_wishes(words)
        weights = {word: self._best_score(word) for word in words}
        highest = max(weights.values(), default=0.0) or 1.0
        for word, score in weights.items():
            if not score:
                weights[word] = self._absent_weight(word) * highest
        return weights

    def _best_score(self, word: str) -> float:
        """Returns the highest score of a word. Ignores turns that repeat the prompt."""
        ignored = self._candidates.asked_before
        scores = self._candidates.by_word.get(word, {})
        return max((score for place, score in scores.items() if place not in ignored), default=0.0)

    def _absent_weight(self, word: str) -> float:
        """Weighs a word without matches: 0 for a frequent one, up to 1 for an unknown one.

        In a young vault an unknown word weighs less.
        """
        is_frequent = fts_search.has(
            self._request.store, word, self._scope_terms, self._candidates.without.ids
        )
        if is_frequent:
            return 0.0
        if tokens.is_run(word):
            return self._unknown_weight * UNKNOWN_PAIR
        return self._unknown_weight


def _similar(candidates: Candidates) -> frozenset[int]:
    """Returns the places whose cosine is far above the middle one of the vault.

    A scaled value is 0 at the middle. So the middle cosine follows from two chunks.
    """
    cosines = candidates.cosines
    scaled = {}
    for place in cosines:
        value = candidates.likeness.get(place, (LOWEST,))[0]
        if value > LOWEST:
            scaled[place] = value
    if len(scaled) < 2:
        return frozenset()
    ranked = sorted((value, cosines[place], place) for place, value in scaled.items())
    least = ranked[0][2]
    best = ranked[-1][2]
    # All chunks are equally like the prompt, so none is far above the middle.
    if scaled[best] == scaled[least]:
        return frozenset()
    span = (cosines[best] - cosines[least]) / (scaled[best] - scaled[least])
    middle = cosines[best] - scaled[best] * span
    return frozenset(place for place in scaled if cosines[place] - middle >= MORE_ALIKE)
