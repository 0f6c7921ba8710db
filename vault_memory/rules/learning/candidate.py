"""Candidates of one answer: memories, facts, topics, and proposals that only a person can approve."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vault_memory.markdown.letters import folded_line
from vault_memory.rules.learning.write_policy import NO_LABELS, Labels

DECISIONS = "Decisions"
AGREEMENTS = "Agreements"
ACTIONS = "Action items"
CHANNEL_SECTIONS = (DECISIONS, AGREEMENTS, ACTIONS)
"""Sections of a channel's notes, beside that for other memories"""
PLAN = "plan"
"""The type of an action item"""


@dataclass(frozen=True, slots=True)
class Memory:
    """A sentence worth remembering."""

    text: str
    type: str = ""
    """one of TYPES, or nothing"""
    topic: str = ""
    """one of TOPICS, or nothing"""
    evidence: tuple[str, ...] = ()
    """ids of the person's own turns"""
    doubt: str = ""
    """why its citation is unusable; another own turn may still say it"""
    labels: Labels = NO_LABELS
    """how the model describes it"""
    section: str = ""
    """of a channel: the section of the note, such as ``Decisions``"""
    owner: str = ""
    """of a channel: who shall do it"""
    due: str = ""
    """a day as ``2026-06-01``, or the words of the turn for it"""

    @property
    def statement(self) -> str:
        """The sentence."""
        return self.text

    def as_json(self) -> dict[str, Any]:
        """Returns the memory in the form that models are asked for."""
        return {
            "text": self.text,
            "type": self.type,
            "topic": self.topic,
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact as the model states it; the fact page decides what to do with it."""

    subject: str
    predicate: str
    """a verb in snake_case"""
    object: str
    valid_from: str = ""
    """a day as ``2026-01-28``, or nothing"""
    valid_until: str = ""
    evidence: tuple[str, ...] = ()
    doubt: str = ""
    """why its citation is unusable; another own turn may still say it"""
    labels: Labels = NO_LABELS
    """how the model describes it"""

    @property
    def statement(self) -> str:
        """The fact as a sentence for a person."""
        return f"{self.subject} {self.predicate.replace('_', ' ')} {self.object}"

    def as_json(self) -> dict[str, Any]:
        """Returns the fact in the form that models are asked for."""
        return {
            "subject": self.subject,
            "predicate": self.predicate,
            "object": self.object,
            "from": self.valid_from,
            "until": self.valid_until,
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Doubt:
    """A text that only a person can approve, or that was left out, with the reason."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """The contents of one answer."""

    memories: tuple[Memory, ...] = ()
    facts: tuple[FoundFact, ...] = ()
    episodes: tuple[Memory, ...] = ()
    """what conversations were about; each cites an own turn"""
    topics: Mapping[str, str] = field(default_factory=dict)
    """by turn id"""
    ops: tuple[Mapping[str, Any], ...] = ()
    """ops as JSON; `apply_ops` and policy judge them"""
    proposals: tuple[Doubt, ...] = ()
    """texts that wait for a person's approval"""
    dropped: tuple[Doubt, ...] = ()
    """texts that were rejected"""
    uncited: tuple[Memory | FoundFact, ...] = ()
    """what cites no own turn; each is among the proposals, unless an own turn says it after all"""
    nothing_new: bool = False
    """the model answered that it has nothing to remember"""
    rung: str = ""
    """the way in which the model was asked for its form"""

    @property
    def has_candidates(self) -> bool:
        """Whether the answer claims anything, with or without a citation."""
        return bool(self.memories or self.facts or self.uncited or self.proposals)

    def as_json(self) -> dict[str, Any]:
        """Returns the contents in the form that models are asked for."""
        return {
            "memories": [memory.as_json() for memory in self.memories],
            "facts": [fact.as_json() for fact in self.facts],
            "episodes": [row.as_json() for row in self.episodes],
            "topics": dict(self.topics),
            "ops": [dict(op) for op in self.ops],
        }


def unique_memories(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Returns each text once, with all turns that it was learned from."""
    by_text: dict[str, Memory] = {}
    for memory in memories:
        key = folded_line(memory.text)
        first = by_text.get(key)
        if first is not None:
            evidence = dict.fromkeys((*first.evidence, *memory.evidence))
            # Fault: a model that says a text twice must not take its own label back.
            labels = first.labels.tightened(memory.labels)
            memory = replace(first, evidence=tuple(evidence), labels=labels)
        by_text[key] = memory
    return tuple(by_text.values())
