"""Finding what to remember without a model: phrases by which people say lasting things, a table for each language.

It only ever quotes: each memory is a piece of a sentence that the person wrote, so nothing can be invented. It is
careful: questions, doubts, negations, hypotheses, quotations and other people's words are passed over.
"""

import json
from typing import TYPE_CHECKING

from vault_memory.models.base import Answer
from vault_memory.models.llm.phrase_tables import tables
from vault_memory.models.llm.sentence_filter import sentences
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

LONGEST = 300
"""Characters of a sentence that is quoted"""


class RulesBrain:
    """Always there, needs nothing, and answers the same to the same."""

    name = "rules"

    def answer(self, prompt: "Prompt") -> Answer:
        """In the shape that models are asked for. To a question about a note it has no edits to suggest."""
        excerpts = prompt.excerpts if prompt.role == "extraction" else ()
        found = noticed(excerpts)
        return Answer(json.dumps(found.as_json(), ensure_ascii=False), "rules", "rules")


def noticed(excerpts: "tuple[Excerpt, ...]") -> Extraction:
    """What the phrases find in the person's own turns."""
    memories: list[Memory] = []
    facts: list[FoundFact] = []
    for excerpt in excerpts:
        for sentence in sentences(excerpt.text) if excerpt.own else ():
            if len(sentence) > LONGEST:
                continue
            for table in tables():
                if found := table.match(sentence):
                    memories.append(Memory(found.text, found.type, "", (excerpt.id,)))
                    if found.predicate and found.object:
                        facts.append(
                            FoundFact(
                                excerpt.who,
                                found.predicate,
                                found.object,
                                evidence=(excerpt.id,),
                            )
                        )
                    break
    return Extraction(tuple(memories), tuple(facts))
