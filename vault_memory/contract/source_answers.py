"""What `source` returns: where a line, a fact or an id comes from; and what a night costs."""

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from vault_memory.contract.fields import Count, LineRange


class SpokenJson(TypedDict):
    """What was said once."""

    id: str
    ts: str
    session: str
    role: str
    user: str
    text: str
    automated: bool


class SourceTurnJson(TypedDict):
    """A turn behind something, with the turns around it in its session."""

    id: str
    gone: Annotated[str | None, Meta(description="Why there is no turn; null if there is one")]
    note: Annotated[str, Meta(description="Its transcript")]
    turn: SpokenJson | None
    before: list[SpokenJson]
    after: list[SpokenJson]
    closed: Annotated[str | None, Meta(description="Why no turns around it are shown; else null")]


class WrittenJson(TypedDict):
    """The audit record of the edit that wrote a line; `undo` takes its id."""

    id: str
    ts: str
    source: str
    why: str


class SourceJson(TypedDict):
    """Where something comes from."""

    ref: str
    kind: Literal["turn", "item", "fact", "held", "record"]
    id: str
    note: str
    lines: LineRange | None
    scope: str
    text: str
    written: WrittenJson | None
    turns: list[SourceTurnJson]
    reason: Annotated[str, Meta(description="Why there are no turns; empty if there are")]


TokensJson = TypedDict(
    "TokensJson",
    {
        "in": Annotated[Count, Meta(description="Tokens of the questions")],
        "out": Annotated[Count, Meta(description="Tokens of the answers")],
        "calls": Count,
        "estimated": Annotated[
            Count, Meta(description="Calls whose server does not name their tokens")
        ],
    },
)
