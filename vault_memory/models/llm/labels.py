"""Lets a small model answer two words a turn: is this worth remembering, and of what type is it?

A model of half a billion parameters does not fill a JSON object well, but it judges a sentence. The
memory is the person's own words, so nothing can be invented, and a night takes two short answers
for each turn. Facts and edits are left to the phrase rules.
"""

import json
from typing import TYPE_CHECKING, Protocol

from vault_memory.models.base import BrainAnswer
from vault_memory.models.llm.label_questions import IS_KEPT, TYPE, LabelQuestion
from vault_memory.models.llm.own_words import quotes_another
from vault_memory.models.llm.phrase_rules import extract
from vault_memory.models.llm.sentence_filter import sentences
from vault_memory.rules.conversations.quotation_marks import quotations
from vault_memory.rules.learning.extraction import LONGEST
from vault_memory.rules.search.tokens import is_run, words

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

LASTING = ("identity", "relationship")
"""Types that the phrases decide, because what has one never fades away"""
LIKELY = 0.5
"""The probability of "yes" from which on a turn is remembered"""
NAME_WORDS = 2
NAME_PAIRS = 3
"""Words, and pairs of letters, of a name that may stand in quotation marks"""
LEAST_WORDS = 3
LEAST_PAIRS = 4
"""Pairs of letters of a script without spaces"""


class Labeller(Protocol):
    """A model that answers with one word."""

    @property
    def name(self) -> str: ...

    def probability_of_yes(self, question: LabelQuestion, text: str) -> float:
        """Return 0 to 1. Raises ``BrainUnavailable`` without a server."""

    def chosen_word(self, question: LabelQuestion, text: str) -> str:
        """Return one of the words of the question, or "". Raises ``BrainUnavailable``."""


class LabelBrain:
    """Answers prompts for memories turn by turn, and all others with nothing."""

    def __init__(self, model: Labeller) -> None:
        self._model = model
        self.name = f"{model.name}, turn by turn"

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        """Return the own words of each turn that the model finds worth remembering."""
        memories = []
        if prompt.role in ("extraction", "channel"):
            memories = [
                {"turn": excerpt.id, "text": statement, "type": self._type_of(excerpt, statement)}
                for excerpt in prompt.excerpts
                if (statement := statement_of(excerpt)) and self._keeps(statement)
            ]
        text = json.dumps({"memories": memories}, ensure_ascii=False)
        return BrainAnswer(text, "labels", self.name)

    def _keeps(self, statement: str) -> bool:
        return self._model.probability_of_yes(IS_KEPT, statement) >= LIKELY

    def _type_of(self, excerpt: "Excerpt", statement: str) -> str:
        # Fault: a model may call an allergy passing, and it would fade. The phrases know it.
        types = {memory.type for memory in extract((excerpt,)).memories}
        for type_ in LASTING:
            if type_ in types:
                return type_
        return self._model.chosen_word(TYPE, statement)


def statement_of(excerpt: "Excerpt") -> str:
    """Return the person's own statements in a turn, or "" when it has too few words.

    Questions, quotations and forwarded text are left out.
    """
    if not excerpt.own:
        return ""
    statement = ""
    for sentence in sentences(excerpt.text):
        if quotes_another(sentence) or not _stands_alone(sentence):
            continue
        longer = f"{statement} {sentence}".strip()
        if len(longer) > LONGEST:
            break
        statement = longer
    tokens = words(statement)
    least = LEAST_PAIRS if any(map(is_run, tokens)) else LEAST_WORDS
    return statement if len(tokens) >= least else ""


def _stands_alone(sentence: str) -> bool:
    """Return whether a sentence says something itself: it introduces and quotes nothing."""
    # "Translate into French:" says nothing without what follows.
    if sentence.rstrip().endswith((":", "：")):
        return False
    # Fault: the words on a sign look like a title, and a small model keeps them.
    quoted = (sentence[start + 1 : end - 1] for start, end in quotations(sentence))
    return all(_is_name(text) for text in quoted)


def _is_name(quoted: str) -> bool:
    tokens = words(quoted)
    return len(tokens) <= (NAME_PAIRS if any(map(is_run, tokens)) else NAME_WORDS)
