"""Lets a small model answer one word a turn: is this worth remembering, yes or no?

A model of half a billion parameters does not fill a JSON object well, but it judges a sentence. The
memory is the person's own words, so nothing can be invented, and a night takes one short answer for
each turn. Facts and edits are left to the phrase rules.
"""

import json
from typing import TYPE_CHECKING, Protocol

from vault_memory.models.base import BrainAnswer
from vault_memory.models.llm.own_words import quotes_another
from vault_memory.models.llm.sentence_filter import sentences
from vault_memory.rules.learning.extraction import LONGEST
from vault_memory.rules.search.tokens import is_run, words

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

QUESTION = (
    "You read one message of a person to a bot. Does it say something about the person, or about people and things "
    "in their life, that will still matter in a month? A request to the bot, small talk and a mood do not. "
    "Answer with one word: yes or no."
)
LIKELY = 0.5
"""The probability of "yes" from which on a turn is remembered"""
LEAST_WORDS = 3
LEAST_PAIRS = 4
"""Pairs of letters of a script without spaces"""


class Labeller(Protocol):
    """A model that answers with one word."""

    @property
    def name(self) -> str: ...

    def probability_of_yes(
        self,
        question: str,
        text: str,
    ) -> float:
        """Return 0 to 1. Raises ``BrainUnavailable`` without a server."""


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
                {"turn": excerpt.id, "text": statement, "type": ""}
                for excerpt in prompt.excerpts
                if (statement := statement_of(excerpt)) and self._keeps(statement)
            ]
        text = json.dumps({"memories": memories}, ensure_ascii=False)
        return BrainAnswer(text, "labels", self.name)

    def _keeps(self, statement: str) -> bool:
        return self._model.probability_of_yes(QUESTION, statement) >= LIKELY


def statement_of(excerpt: "Excerpt") -> str:
    """Return the person's own statements in a turn, or "" when it has too few words.

    Questions, quotations and forwarded text are left out.
    """
    if not excerpt.own:
        return ""
    statement = ""
    for sentence in sentences(excerpt.text):
        if quotes_another(sentence):
            continue
        longer = f"{statement} {sentence}".strip()
        if len(longer) > LONGEST:
            break
        statement = longer
    tokens = words(statement)
    least = LEAST_PAIRS if any(map(is_run, tokens)) else LEAST_WORDS
    return statement if len(tokens) >= least else ""
