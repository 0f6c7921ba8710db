"""Finds memories without a model, by tables of typical phrases for each language.

Each memory quotes a sentence of the user, so nothing can be invented. Questions, doubts, negations,
hypotheses, quotations and words of other people are ignored.
"""

import json
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.models.base import BrainAnswer
from vault_memory.models.llm.own_words import quotes_another, sentences
from vault_memory.models.llm.phrase_tables import Match, tables
from vault_memory.rules.learning.answer_schema import TOPICS
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory
from vault_memory.rules.search.tokens import is_run, words

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Excerpt, Prompt


LONGEST = 300
"""The longest sentence that is quoted, in characters"""
CACHED = 512
"""Sentences whose memory is cached: an episode asks for each sentence again"""


class RulesBrain:
    """Answers prompts with the phrase tables: always available and deterministic."""

    name = "rules"

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        """Answer in the format of a model. A prompt for curation gets no edits."""
        reads_turns = prompt.role in ("extraction", "facts", "channel")
        excerpts = prompt.excerpts if reads_turns else ()
        extraction = extract(excerpts)
        return BrainAnswer(json.dumps(extraction.as_json(), ensure_ascii=False), "rules", "rules")


def requests_in(text: str) -> list[str]:
    """Return what the speaker asks to remember, in the words of the turn."""
    return [request for sentence in sentences(text) if (request := _request(sentence))]


def has_long_request(text: str) -> bool:
    """Return whether the speaker asks to remember more than one line can have."""
    long_sentences = (part for part in sentences(text) if len(part) > LONGEST)
    return any(_request(sentence[:LONGEST]) for sentence in long_sentences)


def _request(sentence: str) -> str:
    if len(sentence) > LONGEST:
        return ""
    return next(filter(None, (table.request(sentence) for table in tables())), "")


def extract(excerpts: "tuple[Excerpt, ...]") -> Extraction:
    """Return the memories and facts that the phrases match in the user's own turns."""
    memories: list[Memory] = []
    facts: list[FoundFact] = []
    for excerpt in excerpts:
        for sentence in sentences(excerpt.text) if excerpt.own else ():
            match = _match(sentence) if len(sentence) <= LONGEST else None
            # Fault: the line would carry what another says into the memory of the person.
            if match is None or quotes_another(sentence):
                continue
            memories.append(Memory(match.text, match.type, "", (excerpt.id,)))
            facts += [
                FoundFact(
                    match.subject or excerpt.who,
                    match.predicate,
                    fact_object,
                    match.since,
                    evidence=(excerpt.id,),
                )
                for fact_object in match.objects
            ]
    return Extraction(tuple(memories), tuple(facts))


@lru_cache(maxsize=CACHED)
def _match(sentence: str) -> Match | None:
    """Return the memory in a sentence, by the first language that has one."""
    matches = (table.match(sentence) for table in tables())
    return next(filter(None, matches), None)


FILE = Path(__file__).parent / "topics.toml"


class _Words(NamedTuple):
    """The words of one topic in one language."""

    exact: frozenset[str]
    beginnings: tuple[str, ...]
    signs: tuple[str, ...]
    """found anywhere in a text: words of scripts without spaces"""

    def matches(self, text: str, tokens: list[str]) -> int:
        """Returns how many words of a text have the topic."""
        spaced = sum(token in self.exact or token.startswith(self.beginnings) for token in tokens)
        return spaced + sum(sign in text for sign in self.signs)


def topic_of(text: str) -> str:
    """Returns the topic of most words of a text, all in one language; empty without any."""
    folded = text.casefold()
    tokens = words(text)
    counts = dict.fromkeys(TOPICS, 0)
    for language in _languages():
        for topic, listed in language.items():
            counts[topic] = max(counts[topic], listed.matches(folded, tokens))
    # The first one of equals, in the order of the topics.
    best = max(TOPICS, key=lambda topic: counts[topic])
    return best if counts[best] else ""


@cache
def _languages() -> tuple[dict[str, _Words], ...]:
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return tuple({topic: _listed(table[topic]) for topic in TOPICS} for table in tables.values())


def _listed(entries: list[str]) -> _Words:
    folded = [entry.casefold() for entry in entries]
    return _Words(
        frozenset(word for word in folded if not word.endswith("~")),
        tuple(word.removesuffix("~") for word in folded if word.endswith("~")),
        tuple(word for word in folded if is_run(word)),
    )
