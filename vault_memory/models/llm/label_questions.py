"""The questions that a small model answers with one word, each with balanced examples."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.models.llm.openai_errors import short_text
from vault_memory.rules.learning.answer_schema import TYPES

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
