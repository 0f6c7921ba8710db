"""The step that lets a model edit a person's profile, as policy allows."""

from datetime import timedelta
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError
from vault_memory.learning import prompts
from vault_memory.learning.policy.allowed_ops import allowed_ops
from vault_memory.rules.learning.extraction import read_answer

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

RECENT_DAYS = 3
"""Dated notes that curation reads"""


def curate(cycle: "LearningCycle") -> None:
    """Lets the brain edit USER.md, as policy allows, after all turns of the night are read."""
    if not _may_curate(cycle):
        return
    places = cycle.places
    since = cycle.night - timedelta(days=RECENT_DAYS)
    try:
        prompt = prompts.curation_prompt(
            cycle.question("curation", places.profile.rpartition("/")[2]),
            text=cycle.text(places.profile),
            days=cycle.days(since, cycle.night),
            facts=cycle.text(places.facts),
        )
        answer = cycle.ask("curation", prompt)
    except VaultMemoryError as error:
        # Fault: the model is out of reach. What the cycle wrote before must not be lost with the
        # curation.
        cycle.outcome.reason = cycle.outcome.reason or error.message
        return
    # Fault: a model may write a secret into its ops. The policy judges these as well.
    ops = allowed_ops(cycle, read_answer(answer, ()).ops)
    result = cycle.edit("curation", places.profile, ops)
    cycle.outcome.curated = len(result.applied)


def _may_curate(cycle: "LearningCycle") -> bool:
    # Fault: curation of a channel would let its members change a person's profile.
    if not cycle.request.curate or cycle.kind != "user":
        return False
    # Fault: with turns left to read, or after a failure, the model would curate from half a day.
    if cycle.outcome.more or cycle.outcome.state == "failed":
        return False
    return bool(cycle.gathered.turns or cycle.last.heard)
