"""Leaves out what a person took back, in later turns or by deleting it.

The plan of an edit refuses a deleted line by the turn that the line names. Where several turns say it,
the line must name one that is later than the deletion.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from vault_memory.edits.commands import ApplyOps
from vault_memory.learning.attributes import fact_of
from vault_memory.learning.policy.judged import Judged
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.edits.ownership import DELETED
from vault_memory.rules.learning.policy.held_candidates import (
    opens_with_withdrawal,
    withdrawn_sentences,
)
from vault_memory.rules.sentences.sentence_splitter import split_sentences

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.learning.cycle import LearningCycle
    from vault_memory.learning.policy.judged import SpokenLine
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.learning.candidate import FoundFact, Memory
    from vault_memory.rules.learning.episodes import SpokenTurn
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


Cited = TypeVar("Cited", "Memory", "FoundFact")

IsDeleted = Callable[[str, str], bool]
"""Whether a line below a heading says what the person deleted after the turn that the line names"""


def look_up(editor: "NoteEditor", note: str, turns: "Iterable[Turn]", now: datetime) -> IsDeleted:
    """Returns the look-up for lines of a note that name some of these turns."""
    # Fault: a scope without a file of this kind has an empty path.
    if not note:
        return lambda heading, line: False
    command = editor.new_command(note, "nightly", now, ApplyOps())
    spoken = {turn.id: turn.ts for turn in turns}
    return editor.is_deleted(replace(command, spoken=spoken))


def undeleted(turns: "Iterable[SpokenTurn]", is_deleted: IsDeleted) -> "list[SpokenTurn]":
    """Returns turns without the sentences that the person deleted later."""
    return [
        replace(
            turn,
            sentences=tuple(
                sentence
                for sentence in turn.sentences
                if not is_deleted("", _naming(sentence, turn.id))
            ),
        )
        for turn in turns
    ]


def leave_out_deleted(cycle: "LearningCycle") -> None:
    """Takes out of what a cycle will write what the person deleted after saying it."""
    turns, places = cycle.gathered.evidence, cycle.places
    judged, extraction = cycle.judged, cycle.extraction
    is_deleted, is_deleted_fact = (
        look_up(cycle.deps.editor, note, turns.values(), cycle.now)
        for note in (places.profile, places.facts)
    )

    def drop(refs: tuple[str, ...]) -> None:
        judged.drop(refs, DELETED)
        cycle.outcome.dropped = list(judged.dropped)

    def is_allowed(spoken: "SpokenLine") -> bool:
        if is_deleted("", spoken.line):
            drop((spoken.turn.id,))
            return False
        return True

    def later(
        candidates: Iterable[Cited], is_said_before: Callable[[Cited, "Turn"], bool]
    ) -> tuple[Cited, ...]:
        """Returns candidates with the turns that are later than the deletion."""
        allowed = []
        for candidate in candidates:
            cited = [turns[id_] for id_ in candidate.evidence if id_ in turns]
            earlier = {turn.id for turn in cited if is_said_before(candidate, turn)}
            if not earlier:
                allowed.append(candidate)
            elif len(earlier) < len(cited):
                ids = (id_ for id_ in candidate.evidence if id_ not in earlier)
                allowed.append(replace(candidate, evidence=tuple(ids)))
            else:
                drop(candidate.evidence)
        return tuple(allowed)

    def is_memory_deleted(memory: "Memory", turn: "Turn") -> bool:
        return is_deleted("", _naming(memory.text, turn.id))

    def is_fact_deleted(candidate: "FoundFact", turn: "Turn") -> bool:
        fact = fact_of(candidate, turn, cycle.scope)
        return is_deleted_fact(fact.subject, fact.line())

    judged.rules = list(filter(is_allowed, judged.rules))
    judged.requests = list(filter(is_allowed, judged.requests))
    cycle.extraction = replace(
        extraction,
        memories=later(extraction.memories, is_memory_deleted),
        facts=later(extraction.facts, is_fact_deleted),
        episodes=later(extraction.episodes, is_memory_deleted),
    )


def _naming(text: str, turn: str) -> str:
    return f"{text} (ref:{turn})"
