"""Finds memories without a model, by tables of typical phrases for each language.

Each memory quotes a sentence of the user, so nothing can be invented. Questions, doubts, negations,
hypotheses, quotations and words of other people are ignored.
"""

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from vault_memory.models.base import BrainAnswer
from vault_memory.models.llm.own_words import quotes_another
from vault_memory.models.llm.phrase_tables import Match, tables
from vault_memory.models.llm.sentence_filter import sentences
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory

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
