"""Lets a small model answer two words a turn: is this worth remembering, and of what type is it?

A model of half a billion parameters does not fill a JSON object well, but it judges a sentence. The
memory is the person's own words, so nothing can be invented, and a night takes two short answers
for each turn. Facts and edits are left to the phrase rules.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from vault_memory.models.base import BrainAnswer
from vault_memory.models.llm.openai_errors import short_text
from vault_memory.models.llm.own_words import quotes_another, sentences
from vault_memory.models.llm.phrase_rules import extract
from vault_memory.rules.conversations.quotation_marks import quotations
from vault_memory.rules.learning.answer_schema import TYPES
from vault_memory.rules.learning.extraction import LONGEST
from vault_memory.rules.search.tokens import is_run, words

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Excerpt, Prompt


_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class LabelQuestion:
    """A question with the words that may answer it."""

    text: str
    words: tuple[str, ...]
    examples: tuple[tuple[str, str], ...] = ()
    """messages and their right answers; as many for each word, and in mixed order"""

    def word_in(self, answer: str) -> str:
        """Return the first word of an answer if it is one of the question, else ""."""
        word = _WORD.search(answer.casefold())
        return word[0] if word and word[0] in self.words else ""

    def chosen_in(self, reply: Mapping[str, Any]) -> str:
        """Return the word that a reply of a server chooses. Raises `TooLong`."""
        return self.word_in(short_text(reply))


IS_KEPT = LabelQuestion(
    "You read one message of a person to a bot. Does it say something about the person, or about people and things "
    "in their life, that will still matter in a month? A request to the bot, small talk, a mood, a joke, a supposition "
    "and what others claim do not. Answer with one word: yes or no.",
    ("yes", "no"),
    (
        ("I am allergic to walnuts.", "yes"),
        ("I am so tired today.", "no"),
        ("Si j'étais riche, je vivrais sur un bateau.", "no"),
        ("Meine Schwester arbeitet am Hafen.", "yes"),
        ("Nous déménageons à Lyon en juin.", "yes"),
        ("Mein Bruder behauptet, ich singe schlecht.", "no"),
        ("Сделай ответ короче.", "no"),
        ("Я работаю учителем в школе.", "yes"),
        ("Prefiero el té sin azúcar.", "yes"),
        ("Jajaja, mi gato es mi jefe.", "no"),
        ("谢谢，今天就到这里。", "no"),
        ("我不吃猪肉。", "yes"),
        ("My exam is on 12 May.", "yes"),
        ("Suppose I lived on the moon.", "no"),
    ),
)
TYPE = LabelQuestion(
    "You read one message of a person to a bot. Which word fits best? "
    "identity: who the person is, name, home, work, health. preference: what they like. "
    "relationship: family, friends, pets. event: something on a day. activity: what they do for some time. "
    "plan: what they intend. context: other facts. ephemeral: what no longer matters in a week. "
    "Answer with that one word.",
    TYPES,
    (
        ("I am allergic to walnuts.", "identity"),
        ("Prefiero el té sin azúcar.", "preference"),
        ("Meine Schwester arbeitet am Hafen.", "relationship"),
        ("My exam is on 12 May.", "event"),
        ("Я учу португальский язык.", "activity"),
        ("Nous voulons déménager à Lyon.", "plan"),
        ("The boat lies in the old dock.", "context"),
        ("我在等公交车。", "ephemeral"),
    ),
)


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
