"""Types of fields that several answers have."""

from typing import Annotated, TypedDict

from msgspec import Meta

from vault_memory.contract import ItemState

Revision = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=0)]
Day = Annotated[str, Meta(extra_json_schema={"format": "date"})]
LineRange = Annotated[
    list[Annotated[int, Meta(ge=1)]],
    Meta(min_length=2, max_length=2, description="First and last, from 1"),
]
CandidateKind = Annotated[str, Meta(description="memory, fact, rule or remember")]
Needs = Annotated[str, Meta(description="What is missing until it is written")]
CopyCount = Annotated[Count, Meta(description="How many lines say this, if several do")]
FadedState = Annotated[ItemState, Meta(description="With `archived`: how far the item has faded")]
Diff = Annotated[str, Meta(description="A unified diff")]
UnknownScopes = Annotated[
    list[str], Meta(description="Scopes without any note: perhaps misspelt names")
]


class CopyJson(TypedDict):
    """Other lines that say the same as a hit."""

    note: str
    lines: LineRange
    date: Day | None


OtherLines = Annotated[list[CopyJson], Meta(description="The first of the other lines")]


class UnknownFilterJson(TypedDict):
    """A filter whose value nothing in the searched notes has, perhaps because it is misspelt."""

    filter: Annotated[str, Meta(description="topic, entity, kind, tag, where or path")]
    value: str
    near: Annotated[
        list[str], Meta(description="Similar values that there are; of `kind` all that there are")
    ]


class NotMemoryJson(TypedDict):
    """How many Markdown files of the vault search does not read."""

    files: Count
    of: Count
