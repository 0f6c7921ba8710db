"""Looks for an episode of another conversation that says what a held candidate says."""

from collections.abc import Iterator
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.learning.episodes import TYPE, session_key
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns
from vault_memory.rules.learning.policy.held_candidates import HELD_TIME, HeldCandidate

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle


class _Summary(NamedTuple):
    session: str
    """the digits by which the episode names its conversation"""
    text: str
    day: date


class EpisodeSupport:
    """The episodes of the scope, as far as held candidates reach back."""

    def __init__(self, cycle: "LearningCycle") -> None:
        self._cycle = cycle
        self._first = cycle.night - HELD_TIME

    def supports(self, candidate: HeldCandidate) -> bool:
        """Returns whether the episode of a conversation without a support says the candidate."""
        cycle = self._cycle
        channel = cycle.name if cycle.kind == "channel" else ""
        # Fault: the episode of its own conversation repeats the turn that says it.
        own_keys = {
            session_key(support.session, cycle.name, channel) for support in candidate.supports
        }
        statement = dict(candidate.fact).get("object", candidate.text)
        return any(
            OwnTurns({TYPE: OwnTurn(summary.text, cycle.name, summary.day)}).citation(
                statement, (TYPE,)
            )
            for summary in self._summaries
            if summary.session not in own_keys
        )

    @cached_property
    def _summaries(self) -> list[_Summary]:
        return list(self._read_notes())

    def _read_notes(self) -> Iterator[_Summary]:
        for day, note in self._cycle.places.episodes:
            items = items_of(self._cycle.doc(note)) if day >= self._first else ()
            for item in items:
                fields = parse_item(item.text)
                if fields.type == TYPE and fields.session:
                    yield _Summary(fields.session, fields.text, day)
