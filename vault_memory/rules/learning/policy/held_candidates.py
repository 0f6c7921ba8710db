"""Candidates that wait for more turns: how ledger lines merge, and when one is written. Pure.

The lines about a candidate form a union: each adds supports, turns that were withdrawn, or a state.
So all devices come to the same result, in whatever order their lines arrive.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import reduce
from typing import Any, NamedTuple

from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.conversations.quotation_marks import unquoted
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.candidate import CHANNEL_SECTIONS
from vault_memory.rules.learning.ledger_lines import day_of_record
from vault_memory.rules.learning.policy_cues import PolicyCues
from vault_memory.rules.learning.write_policy import REPETITION, TWICE, sentences_about
from vault_memory.rules.sentences.sentence_splitter import split_sentences

STATES = ("held", "promoted", "rejected")
"""Of two states the later one wins"""
NEEDS_REPETITION = "a second turn in another session"
NEEDS_SECOND = "a second turn"
NEEDS_END = "the end of its session"
HELD_TIME = timedelta(days=90)
"""From its last support until a candidate is given up"""


class Support(NamedTuple):
    """An own turn that says a candidate."""

    turn: str
    session: str


@dataclass(frozen=True, slots=True)
class HeldCandidate:
    """A candidate with all its supports."""

    id: str
    ts: str
    """the time of its first support"""
    state: str
    policy_class: str
    reason: str
    kind: str
    text: str
    day: str = ""
    """of the first support, in the time zone of the person"""
    line: str = ""
    """the item to write; empty for a fact"""
    section: str = ""
    """of a channel: the section of the note, such as ``Decisions``; else empty"""
    fact: tuple[tuple[str, str], ...] = ()
    """the fields of a fact"""
    supports: frozenset[Support] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    newest: str = ""
    """the time of its last support"""
    audit: str = ""
    """the audit record of its promotion"""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> "HeldCandidate":
        """Returns the candidate of one line, which `is_record` has checked."""
        fact = record.get("fact")
        fields = fact.items() if isinstance(fact, dict) else ()
        state = str(record["state"])
        section = str(record.get("section", ""))
        return cls(
            id=record["id"],
            ts=record["ts"],
            # Fault: a newer version of the program, or a person, wrote a state that this one does
            # not know.
            state=state if state in STATES else STATES[0],
            policy_class=record["class"],
            reason=record["reason"],
            kind=record["kind"],
            text=record["text"],
            day=str(record.get("day", "")),
            line=str(record.get("line", "")),
            # Fault: a person or a program wrote any text. It must not open a section of its own.
            section=section if section in CHANNEL_SECTIONS else "",
            fact=tuple(sorted((str(name), str(value)) for name, value in fields)),
            supports=frozenset(
                Support(support["turn"], support["session"]) for support in record["supports"]
            ),
            withdrawn=frozenset(record.get("withdrawn", ())),
            newest=record["ts"],
            audit=str(record.get("audit", "")),
        )

    @property
    def active(self) -> frozenset[Support]:
        """The supports that the person did not withdraw."""
        return frozenset(support for support in self.supports if support.turn not in self.withdrawn)

    @property
    def needs(self) -> str:
        """What is missing until it is written, for a person."""
        if self.policy_class == REPETITION:
            return NEEDS_REPETITION
        return NEEDS_SECOND if self.reason in TWICE else NEEDS_END

    def as_record(self) -> dict[str, Any]:
        """Returns a ledger line with all that is known of the candidate."""
        record: dict[str, Any] = {
            "id": self.id,
            "ts": self.ts,
            "state": self.state,
            "class": self.policy_class,
            "reason": self.reason,
            "kind": self.kind,
            "text": self.text,
            "supports": [support._asdict() for support in sorted(self.supports)],
        }
        if self.withdrawn:
            record["withdrawn"] = sorted(self.withdrawn)
        if self.fact:
            record["fact"] = dict(self.fact)
        for name in ("day", "line", "section", "audit"):
            value = getattr(self, name)
            if value:
                record[name] = value
        return record


def held_id(scope: str, kind: str, text: str) -> str:
    """Returns the id of a candidate: the same on each device."""
    return short_hash(scope, kind, content_key(scope, text))


def union(one: HeldCandidate, other: HeldCandidate) -> HeldCandidate:
    """Returns one candidate from two lines about it. The order of lines does not matter."""
    return replace(
        # Fault: the lines of devices arrive in any order. All devices must come to the same
        # candidate.
        min(one, other, key=_order),
        state=max(one.state, other.state, key=STATES.index),
        supports=one.supports | other.supports,
        withdrawn=one.withdrawn | other.withdrawn,
        newest=max(one.newest, other.newest),
        audit=max(one.audit, other.audit),
        day=_first(one.day, other.day),
        line=_first(one.line, other.line),
        section=_first(one.section, other.section),
        fact=min(filter(None, (one.fact, other.fact)), default=()),
    )


def with_form_of(earlier: HeldCandidate, candidate: HeldCandidate) -> HeldCandidate:
    """Returns a candidate that says the same as an earlier one, in the words of that one."""
    return replace(
        candidate,
        id=earlier.id,
        text=earlier.text,
        line=earlier.line,
        section=earlier.section,
        fact=earlier.fact,
        day=earlier.day,
    )


def merged(records: Iterable[Mapping[str, Any]]) -> dict[str, HeldCandidate]:
    """Returns the candidates of all lines, by id, the oldest first."""
    by_id: dict[str, list[HeldCandidate]] = {}
    for record in records:
        candidate = HeldCandidate.read(record)
        by_id.setdefault(candidate.id, []).append(candidate)
    candidates = [reduce(union, sorted(lines, key=_order)) for lines in by_id.values()]
    ordered = sorted(candidates, key=lambda candidate: (candidate.ts, candidate.id))
    return {candidate.id: candidate for candidate in ordered}


def is_waiting(candidate: HeldCandidate, today: date) -> bool:
    """Returns whether a candidate still waits: it is not withdrawn, and not too old."""
    is_unsupported = bool(candidate.supports) and not candidate.active
    if candidate.state != "held" or is_unsupported:
        return False
    # Fault: a candidate that is months old would surprise the person.
    age = today - day_of_record(candidate.newest, today)
    return age <= HELD_TIME


def is_due(
    candidate: HeldCandidate, is_ended: Callable[[str], bool], *, has_episode: bool = False
) -> bool:
    """Returns whether enough turns say a candidate.

    `is_ended` tells whether a session has ended. `has_episode`: the episode of another session
    says it, too.
    """
    supports = candidate.active
    turns = {support.turn for support in supports}
    sessions = {support.session for support in supports}
    if candidate.policy_class == REPETITION:
        # One bad evening is no pattern.
        return len(turns) > 1 and len(sessions) > 1
    if not any(map(is_ended, sessions)):
        return False
    if candidate.reason in TWICE:
        return len(turns) > 1 or (bool(turns) and has_episode)
    return bool(turns)


def _first(*texts: str) -> str:
    """Returns the least text that is not empty, so that devices agree."""
    return min(filter(None, texts), default="")


def _order(candidate: HeldCandidate) -> tuple[str, ...]:
    """Returns a key by which all devices take the same line as the first one."""
    return (candidate.ts, candidate.policy_class, candidate.reason, candidate.kind, candidate.text)


WITHDRAWN = "withdrawn"
"""The reason of candidates that were taken back"""
Sentences = frozenset[str]


def withdrawn_sentences(turns: Iterable[Turn], cues: PolicyCues) -> dict[str, Sentences]:
    """Returns the sentences that were taken back, by the id of their turn.

    `turns` are a person's own turns in the order of time. A withdrawal after other sentences of
    its turn takes back these; at the beginning of a turn it takes back the turn before, in the
    same session.
    """
    withdrawn: dict[str, Sentences] = {}
    previous: dict[str, Turn] = {}
    for turn in turns:
        sentences = split_sentences(turn.text)
        position = _position_of_withdrawal(sentences, cues)
        if position:
            withdrawn[turn.id] = frozenset(sentences[:position])
        elif position == 0 and turn.session in previous:
            # Fault: a withdrawal must not take back what the person says in another session.
            before = previous[turn.session]
            withdrawn[before.id] = frozenset(split_sentences(before.text))
        previous[turn.session] = turn
    return withdrawn


def opens_with_withdrawal(turn: Turn, cues: PolicyCues) -> bool:
    """Returns whether a turn takes back the one before it."""
    return _position_of_withdrawal(split_sentences(turn.text), cues) == 0


def is_withdrawn(text: str, turn: Turn, withdrawn: Mapping[str, Sentences]) -> bool:
    """Returns whether the person took back what a turn says about a text."""
    sentences = withdrawn.get(turn.id)
    if not sentences:
        return False
    return not sentences.isdisjoint(sentences_about(text, turn.text))


def _position_of_withdrawal(sentences: list[str], cues: PolicyCues) -> int | None:
    for position, sentence in enumerate(sentences):
        if any(cue.reason == "withdrawals" for cue in cues.find(unquoted(sentence))):
            return position
    return None
