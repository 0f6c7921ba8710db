"""Finds the turns of a cycle, and of the cycles before it, that the person took back."""

from typing import TYPE_CHECKING

from vault_memory.learning.policy.judged import Judged
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.policy.held_candidates import (
    opens_with_withdrawal,
    withdrawn_sentences,
)
from vault_memory.rules.sentences.sentence_splitter import split_sentences

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle
    from vault_memory.rules.learning.policy_cues import PolicyCues


def find_withdrawn(cycle: "LearningCycle", judged: Judged, cues: "PolicyCues") -> None:
    """Notes which sentences and which complete turns were taken back."""
    own = list(cycle.gathered.evidence.values())
    # Fault: a turn that only says "forget that" takes back a turn of an earlier cycle.
    first_of_session = {turn.session: turn for turn in reversed(own)}
    if any(opens_with_withdrawal(turn, cues) for turn in first_of_session.values()):
        own = _with_earlier_turns(cycle, own)
    withdrawn = withdrawn_sentences(own, cues)
    judged.withdrawn = withdrawn
    judged.withdrawn_turns = [
        turn for turn in own if withdrawn.get(turn.id) == frozenset(split_sentences(turn.text))
    ]


def _with_earlier_turns(cycle: "LearningCycle", own: list[Turn]) -> list[Turn]:
    """Returns the own turns with those of their sessions that earlier cycles read."""
    sessions = {turn.session for turn in own}
    logs = cycle.deps.logs(cycle.scope, {})
    ids = {turn.id for turn in own}
    users = {turn.user for turn in own}
    earlier = [
        turn
        for log in logs.values()
        for turn in log.turns or ()
        # Fault: a session of the same name may belong to another person. Only the same speakers
        # count.
        if turn.session in sessions
        and turn.id not in ids
        and turn.role == "user"
        and turn.user in users
        and turn.at <= own[-1].at
    ]
    return sorted([*earlier, *own], key=lambda turn: turn.at)
