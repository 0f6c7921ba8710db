"""Remembers in the state folder what a model was asked, so that it is asked once."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle


def may_ask(cycle: "LearningCycle") -> bool:
    """Returns whether a model read the last turns of the night, and is there to ask more."""
    outcome = cycle.outcome
    # Fault: a round that is not finished asks too early, and would pay for the same items twice.
    if outcome.more or outcome.reason or cycle.checkpoint.session:
        return False
    # Fault: the rules answered, because no model is there.
    return outcome.rung not in ("", "rules")


def keys_asked(cycle: "LearningCycle", about: Literal["pairs", "entities"]) -> frozenset[str]:
    """Returns the keys of what a model was asked; a lost file costs repeated questions."""
    return cycle.deps.store.keys(cycle.scope, about)


def note_asked(
    cycle: "LearningCycle", about: Literal["pairs", "entities"], keys: Iterable[str]
) -> None:
    """Adds keys, unless the cycle is a dry run."""
    if not cycle.request.dry_run:
        cycle.deps.store.add_keys(cycle.scope, about, keys)
