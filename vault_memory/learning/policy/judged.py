"""What the write policy made of the candidates of a cycle."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.candidate import FoundFact
from vault_memory.rules.learning.policy.held_candidates import HeldCandidate
from vault_memory.rules.sentences.sentence_splitter import without_end

if TYPE_CHECKING:
    from vault_memory.contract.answers import DroppedJson
    from vault_memory.rules.learning.policy.held_candidates import Sentences


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """What a candidate becomes in a note or on the page of facts."""

    line: str = ""
    """the item; empty for a fact"""
    section: str = ""
    """of a channel: the section of the note, such as ``Decisions``"""
    fact: FoundFact | None = None


class SpokenLine(NamedTuple):
    """A rule or a request in the person's words, to be written."""

    text: str
    turn: Turn
    day: date

    @property
    def line(self) -> str:
        """The item with its day and its turn."""
        return f"{without_end(self.text)} ({self.day}, ref:{self.turn.id})"


@dataclass(slots=True)
class Judged:
    """The decisions of a cycle."""

    rules: list[SpokenLine] = field(default_factory=list)
    requests: list[SpokenLine] = field(default_factory=list)
    new_requests: list[str] = field(default_factory=list)
    """the lines of requests that no item says already"""
    proposed_rules: dict[str, list[SpokenLine]] = field(default_factory=dict)
    """rules about which a person decides, by the row of the table that says so"""
    proposed_facts: list[FoundFact] = field(default_factory=list)
    held: list[HeldCandidate] = field(default_factory=list)
    """new lines for the ledger"""
    due: list[HeldCandidate] = field(default_factory=list)
    """held candidates with enough supports"""
    withdrawn: "dict[str, Sentences]" = field(default_factory=dict)
    """sentences that the person took back, by turn"""
    withdrawn_turns: list[Turn] = field(default_factory=list)
    """those that were taken back as a whole"""
    dropped: "list[DroppedJson]" = field(default_factory=list)
    """`ref` and `reason` of each dropped candidate"""

    def drop(self, refs: tuple[str, ...], reason: str) -> None:
        """Names a dropped candidate by its turn."""
        entry: DroppedJson = {"ref": refs[0] if refs else "", "reason": reason}
        # Fault: a model that repeats itself would fill the report with the same refusal.
        if entry not in self.dropped:
            self.dropped.append(entry)
