"""Asks a model which statements contradict each other: one question a night."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError
from vault_memory.learning.enrichment.asked_keys import keys_asked, may_ask
from vault_memory.rules.conflicts.contradictions import (
    Contradiction,
    Statement,
    ordered,
)
from vault_memory.rules.conflicts.pairs import likely_pairs, pair_id
from vault_memory.rules.facts.found_entities import read_verdicts
from vault_memory.rules.learning.model_prompt import Prompt, filled

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

BY_RULES = "rules"


def contradictions_by_model(
    cycle: "LearningCycle",
    statements: Iterable[Statement],
) -> tuple[list[Contradiction], list[str]]:
    """Returns the contradictions that a model found; none without a model.

    The caller notes the pairs when they are settled.
    """
    most = cycle.request.conflict_pairs
    if not most or not may_ask(cycle):
        return [], []
    chosen = likely_pairs(statements, keys_asked(cycle, "pairs"), most)
    # Fault: a model answers with ids of its own. Only those of the asked pairs count.
    pairs = {pair_id(first.id, second.id): (first, second) for first, second in chosen}
    if not pairs:
        return [], []
    lines = [
        f"[{id_}] 1. {first.words}\n    2. {second.words}"
        for id_, (first, second) in pairs.items()
    ]
    try:
        template = cycle.deps.instructions("conflicts")
        system = filled(template, {"who": cycle.name})
        prompt = Prompt("conflicts", system, (("pairs", "\n".join(lines)),))
        answer = cycle.ask("conflicts", prompt.fitted(cycle.request.room))
    except VaultMemoryError as error:
        # Fault: the model is out of reach. The other conflicts are settled without it.
        cycle.outcome.reason = cycle.outcome.reason or error.message
        return [], []
    # Fault: the rules do not know what a sentence means. The pairs wait for a model.
    if cycle.checkpoint.answers["conflicts"]["rung"] == BY_RULES:
        return [], []
    verdicts = sorted(read_verdicts(answer, pairs))
    return [ordered("meaning", *pairs[id_]) for id_ in verdicts], list(pairs)
