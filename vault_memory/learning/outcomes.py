"""What a learning cycle and its edits did, and why they were made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.contract import as_json

if TYPE_CHECKING:
    from vault_memory.contract import NightState
    from vault_memory.contract.answers import (
        CommittedJson,
        DroppedJson,
        HeldReasonJson,
        ScopeNightJson,
    )
    from vault_memory.contract.source_answers import TokensJson


class EditCause(NamedTuple):
    """Whose act an edit is, and the reason."""

    source: str = "nightly"
    why: str = ""
    """empty: the night or the conversation, and the model that answered"""
    origin: str = "owner"


BY_NIGHT = EditCause()


def no_tokens() -> "TokensJson":
    """Returns the tokens of a scope that asked no model."""
    return {"in": 0, "out": 0, "calls": 0, "estimated": 0}


@dataclass(slots=True)
class CycleOutcome:
    """What a cycle did. The names are those of the JSON contract."""

    scope: str
    night: str
    gathered: int = 0
    memories: int = 0
    facts: int = 0
    rules: int = 0
    duplicates: int = 0
    """texts that the notes say already"""
    conflicts: int = 0
    """contradictions that were settled, or that a person is asked about"""
    curated: int = 0
    proposed: int = 0
    refused: int = 0
    pruned: int = 0
    reflected: int = 0
    more: int = 0
    """turns that did not fit; the next question of the night begins with them"""
    waiting: int = 0
    """writes that wait until their notes are free"""
    rung: str = ""
    """how the brain answered; empty without a question"""
    model: str = ""
    reason: str = ""
    """why there was no better answer"""
    state: "NightState" = "done"
    """done, quiet (no turns), partial (more turns than fit), or failed"""
    idle: int = 0
    session: str = ""
    """the conversation; empty for a night"""
    heard: int = 0
    """turns that were read before, when their conversations ended"""
    learned: list[str] = field(default_factory=list)
    """the written lines, for the report; they are in the notes, too"""
    notes: list[str] = field(default_factory=list)
    """the written notes"""
    committed: "list[CommittedJson]" = field(default_factory=list)
    """`id`, `note` and `kind` of each written candidate"""
    held: "list[HeldReasonJson]" = field(default_factory=list)
    """`id`, `reason` and `needs` of each candidate that waits"""
    dropped: "list[DroppedJson]" = field(default_factory=list)
    """`ref` (a turn) and `reason` of each candidate that is not kept"""
    tokens: "TokensJson" = field(default_factory=no_tokens)
    """what the questions of the scope cost this month"""

    def as_json(self) -> "ScopeNightJson":
        """Returns the entry of this scope in the answer of `sleep`."""
        entry: ScopeNightJson = as_json(self)
        return entry


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of one edit."""

    applied: tuple[Mapping[str, Any], ...] = ()
    """the ops that had an effect"""
    remarks: tuple[str, ...] = ()
    proposed: int = 0
    refused: int = 0
    waits: bool = False
