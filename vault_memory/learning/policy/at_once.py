"""Learns from a conversation at once: what the policy writes without waiting, by phrases alone.

The turns stay unread, so that the night or a model reads them, too. What is written twice is a
duplicate, and the editor skips it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.learning.checkpoint import CheckpointStore, LastCycle, OpenCycle
from vault_memory.learning.cycle import CycleDeps, CycleRequest, LearningCycle
from vault_memory.learning.steps import run_steps
from vault_memory.learning.unread_turns import Log, mark_of
from vault_memory.models.llm.phrase_rules import RulesBrain
from vault_memory.rules.conversations.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vault_memory.contract.answers import ScopeNightJson

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class NoCheckpoints(CheckpointStore):
    """Saves nothing: a pass that was interrupted is left to the night."""

    def __init__(self, judged: Iterable[str]) -> None:
        """`judged` are marks of turns that an earlier pass has judged."""
        super().__init__(Path())
        self._judged = set(judged)

    def last(self, scope: str) -> LastCycle:
        """Returns a cycle from which all turns are new."""
        return LastCycle(scope, since=BEGINNING.isoformat())

    def open_cycle(self, scope: str) -> None:
        """Returns None."""

    def save(self, scope: str, cycle: LastCycle | OpenCycle) -> None:
        """Saves nothing."""

    def read(self, scope: str, serial: int) -> set[str]:
        """Returns the marks of the judged turns."""
        return self._judged


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """The turns of one session."""

    scope: str
    session: str
    turns: tuple[Turn, ...]

    @property
    def marks(self) -> set[str]:
        """The marks of its turns."""
        return {mark_of(turn.id) for turn in self.turns}


def commit_at_once(
    deps: CycleDeps,
    request: CycleRequest,
    conversation: SessionTurns,
    judged: Iterable[str],
    *,
    explicit_only: bool,
) -> "ScopeNightJson":
    """Writes what the turns ask for, without those that were judged before."""

    def logs(scope: str, known: "Mapping[str, str]") -> dict[str, Log]:
        # Fault: an earlier session of the person must not enter this pass. It sees these turns
        # only.
        return {conversation.session: Log("", conversation.turns)}

    own_deps = replace(
        deps,
        store=NoCheckpoints(judged),
        # Fault: a model would make the end of each turn wait. The night asks it.
        brain=lambda role: RulesBrain(),
        logs=logs,
    )
    own_request = replace(
        request,
        session=conversation.session,
        at_once=True,
        explicit_only=explicit_only,
        lookback=timedelta(),
    )
    return run_steps(LearningCycle(own_deps, own_request)).as_json()
