"""What the MCP tools return: the answers of the contract, made for a model.

A model gets quotations between marks, and no scores, hashes or diffs. A key that `answers` has too
means the same there.
"""

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from vault_memory.contract import (
    CutJson,
    FreshnessJson,
    RemainingJson,
    RememberOutcome,
    RemovedJson,
)
from vault_memory.contract.answers import ProposedRemovalJson
from vault_memory.contract.fields import CopyCount, Count, FadedState, OtherLines

Quoted = Annotated[str, Meta(description="quoted data between marks")]
LineRange = Annotated[
    list[Count], Meta(min_length=2, max_length=2, description="first and last, from 1")
]
Notice = Annotated[str, Meta(description="what the marks around quotations mean")]
Message = Annotated[str, Meta(description="what happened, in words")]


class ToolHit(TypedDict):
    """Lines of a note that answer a question."""

    note: str
    lines: LineRange
    date: NotRequired[str]
    scope: str
    kind: str
    text: Quoted
    copies: NotRequired[CopyCount]
    also: NotRequired[OtherLines]
    state: NotRequired[FadedState]


class ToolSearchAnswer(TypedDict):
    """The hits of a search, best first."""

    notice: NotRequired[Notice]
    message: Message
    hits: list[ToolHit]
    freshness: FreshnessJson


class ToolNote(TypedDict):
    """A note, or some lines of it."""

    notice: NotRequired[Notice]
    note: str
    revision: str
    text: Quoted
    lines: LineRange
    total_lines: Count
    message: NotRequired[Message]


class ToolContext(TypedDict):
    """The memory block for a prompt."""

    text: Quoted
    cut: list[CutJson]
    freshness: FreshnessJson


class ToolRemembered(TypedDict):
    """What became of a text to remember."""

    message: Message
    outcome: RememberOutcome
    id: str
    note: str
    reason: str


class ToolCompacted(TypedDict):
    """The summary of a conversation that was written."""

    notice: NotRequired[Notice]
    message: Message
    id: str
    note: str
    preview: Quoted


class ToolProposal(TypedDict):
    """A proposal that waits in INBOX."""

    id: str


class ToolFactChange(TypedDict):
    """What became of a change of a fact."""

    message: Message
    outcome: str
    id: str
    note: str
    reason: str
    proposed: list[ToolProposal]


class ToolForgotten(TypedDict):
    """What was removed, and where text remains."""

    message: Message
    matches: Count
    removed: list[RemovedJson]
    proposed: list[ProposedRemovalJson]
    remaining: list[RemainingJson]


class ToolFact(TypedDict):
    """A fact in words."""

    id: str
    text: Quoted


class ToolEntity(TypedDict):
    """Everything about a person or a thing."""

    notice: Notice
    name: str
    mentions: Count
    text: Quoted
    facts: list[ToolFact]
    hits: list[ToolHit]
    timeline: NotRequired[list[ToolFact]]


class ToolSourceTurn(TypedDict):
    """A turn behind something: what was said, and what was said around it."""

    id: str
    gone: str
    note: str
    text: Quoted


class ToolSource(TypedDict):
    """Where something comes from."""

    notice: NotRequired[Notice]
    message: Message
    kind: str
    id: str
    note: str
    text: Quoted
    turns: list[ToolSourceTurn]


class ToolStats(TypedDict):
    """Counts of notes and chunks."""

    message: Message
    kinds: dict[str, Any]
    scopes: dict[str, Any]
    sources: dict[str, Any]
