"""What was learned from what was said: memories, facts, topics, and what only a person can say yes to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Memory:
    """One sentence worth keeping."""

    text: str
    type: str = ""
    """one of TYPES, or nothing"""
    topic: str = ""
    """one of TOPICS, or nothing"""
    evidence: tuple[str, ...] = ()
    """ids of the person's own turns"""


@dataclass(frozen=True, slots=True)
class FoundFact:
    """One fact as it was told; what becomes of it is decided where facts are kept."""

    subject: str
    predicate: str
    """a verb in snake_case"""
    object: str
    valid_from: str = ""
    """a day as ``2026-01-28``, or nothing"""
    valid_until: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that only a person can say yes to, or that was left out; with the reason."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that one answer holds."""

    memories: tuple[Memory, ...] = ()
    facts: tuple[FoundFact, ...] = ()
    topics: Mapping[str, str] = field(default_factory=dict)
    """by turn id"""
    ops: tuple[Mapping[str, Any], ...] = ()
    """ops as JSON; `apply_ops` and policy judge them"""
    proposals: tuple[Doubt, ...] = ()
    """what is not taken without asking"""
    dropped: tuple[Doubt, ...] = ()
    """what is not taken at all"""
    nothing_new: bool = False
    """the model said that there is nothing to remember"""
    rung: str = ""
    """how the answer was had"""

    def as_json(self) -> dict[str, Any]:
        """In the shape that models are asked for."""
        return {
            "memories": [
                {
                    "text": one.text,
                    "type": one.type,
                    "topic": one.topic,
                    "evidence": list(one.evidence),
                }
                for one in self.memories
            ],
            "facts": [
                {
                    "subject": one.subject,
                    "predicate": one.predicate,
                    "object": one.object,
                }
                | {
                    "from": one.valid_from,
                    "until": one.valid_until,
                    "evidence": list(one.evidence),
                }
                for one in self.facts
            ],
            "topics": dict(self.topics),
            "ops": [dict(op) for op in self.ops],
        }
