"""Asks a model which statements contradict each other: one question a night."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.errors import VaultMemoryError
from vault_memory.learning.enrichment.asked_keys import keys_asked
from vault_memory.rules.conflicts.contradictions import Contradiction, Statement, ordered
from vault_memory.rules.conflicts.pairs import likely_pairs, pair_id
from vault_memory.rules.facts.found_entities import read_verdicts
from vault_memory.rules.learning.model_prompt import Prompt, filled

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

WITHOUT_VERDICTS = ("rules", "labels")
"""Ways of answering in which no pair is judged"""


class ModelVerdicts(NamedTuple):
    """What a model said about pairs of statements."""

    contradictions: tuple[Contradiction, ...] = ()
    asked: tuple[str, ...] = ()
    """the pairs about which it answered, and the night; noted when they are settled"""
    has_more: bool = False
    """whether pairs may wait for the next night, even if no note changes until then"""


NOTHING = ModelVerdicts()
NEXT_NIGHT = ModelVerdicts(has_more=True)


def contradictions_by_model(
    cycle: "LearningCycle", statements: Iterable[Statement]
) -> ModelVerdicts:
    """Asks a model once a night, whether it read turns tonight or not; nothing without a model."""
    request, outcome = cycle.request, cycle.outcome
    most = request.conflict_pairs
    if not most or not request.has_model:
        return NOTHING
    earlier = keys_asked(cycle, "pairs")
    night = f"night:{cycle.checkpoint.night}"
    # Fault: a round that is not finished asks too early, and would ask a second time in its night.
    # Where the rules answered, the model is not there.
    if outcome.more or outcome.reason or outcome.rung == "rules" or night in earlier:
        return NEXT_NIGHT
    chosen = likely_pairs(statements, earlier, most)
    # Fault: a model answers with ids of its own. Only those of the asked pairs count.
    pairs = {pair_id(first.id, second.id): (first, second) for first, second in chosen}
    if not pairs:
        return NOTHING
    lines = [
        f"[{id_}] 1. {first.words}\n    2. {second.words}" for id_, (first, second) in pairs.items()
    ]
    try:
        template = cycle.deps.instructions("conflicts")
        system = filled(template, {"who": cycle.name})
        prompt = Prompt("conflicts", system, (("pairs", "\n".join(lines)),))
        answer = cycle.ask("conflicts", prompt.fitted(cycle.request.room))
    except VaultMemoryError as error:
        # Fault: the model is out of reach. The other conflicts are settled without it.
        outcome.reason = outcome.reason or error.message
        return NEXT_NIGHT
    # Fault: neither the rules nor one word for each turn tell what a sentence means. The pairs wait
    # for a model.
    if cycle.checkpoint.answers["conflicts"]["rung"] in WITHOUT_VERDICTS:
        return NEXT_NIGHT
    verdicts = sorted(read_verdicts(answer, pairs))
    return ModelVerdicts(
        tuple(ordered("meaning", *pairs[id_]) for id_ in verdicts),
        (*pairs, night),
        has_more=len(pairs) == most,
    )
