"""What a model may say to each tool, field by field; whatever stands nowhere here is refused.

None of it names a person, a channel or a group: whom a server serves was settled before the model said a word.
"""

import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

Kind = Literal[
    "user",
    "channel",
    "memory",
    "note",
    "dated",
    "facts",
    "rules",
    "reflection",
    "transcript",
]
Day = datetime.date
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Object = Annotated[str, Meta(min_length=1, max_length=600)]
Revision = Annotated[
    str,
    Meta(
        pattern="^[0-9a-f]{12,64}$",
        description="the note's `revision` as memory_get gave it; if the note has changed since, nothing is done",
    ),
]
FactId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="a fact's `id`, or its beginning; memory_entity lists facts",
    ),
]


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    """A question, and what the answer is narrowed to."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4000,
            description="words, a question, or a whole message",
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=50, description="at most so many hits")] = 8
    since: Annotated[
        Day | UnsetType,
        Meta(description="only what is of this day or later, such as 2026-01-31"),
    ] = UNSET
    until: Annotated[
        Day | UnsetType, Meta(description="only what is of this day or earlier")
    ] = UNSET
    topic: Annotated[Name | UnsetType, Meta(description="only what has this topic")] = (
        UNSET
    )
    entity: Annotated[
        Name | UnsetType, Meta(description="only what mentions this person or thing")
    ] = UNSET
    kinds: Annotated[
        list[Kind] | UnsetType,
        Meta(description="only these kinds of notes; `transcript` is what was said"),
    ] = UNSET


class Get(Struct, frozen=True, forbid_unknown_fields=True):
    """A note, or some lines of it."""

    note: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4096,
            description="a note's path, as the other tools give it",
        ),
    ]
    first_line: Annotated[int, Meta(ge=1, description="where to begin")] = 1
    last_line: (
        Annotated[
            int, Meta(ge=1, description="where to end; by default the note's end")
        ]
        | UnsetType
    ) = UNSET


class Context(Struct, frozen=True, forbid_unknown_fields=True):
    """What is about to be answered."""

    prompt: Annotated[
        str,
        Meta(
            max_length=100_000,
            description="what was just said; empty for what belongs into every conversation",
        ),
    ] = ""
    purpose: Annotated[
        Literal["chat", "briefing"],
        Meta(
            description="`briefing` when others will read it: nothing personal is in it"
        ),
    ] = "chat"
    budget: (
        Annotated[
            int, Meta(ge=500, le=100_000, description="at most so many characters")
        ]
        | UnsetType
    ) = UNSET


class Remember(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be kept."""

    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1000,
            description="one sentence that can be understood by itself later",
        ),
    ]
    expected_revision: Revision | UnsetType = UNSET


class Correct(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact, and what is right about it."""

    fact: FactId
    object: Annotated[Object | UnsetType, Meta(description="what is right instead")] = (
        UNSET
    )
    subject: Annotated[
        Name | UnsetType, Meta(description="whom or what it is really about")
    ] = UNSET
    predicate: Annotated[
        Name | UnsetType, Meta(description="what it really says, such as works_at")
    ] = UNSET
    valid_from: Annotated[
        Day | UnsetType, Meta(description="since which day it is really so")
    ] = UNSET
    valid_until: Annotated[
        Day | UnsetType, Meta(description="the last day on which it is really so")
    ] = UNSET
    expected_revision: Revision | UnsetType = UNSET


class Confirm(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that is so."""

    fact: FactId
    expected_revision: Revision | UnsetType = UNSET


class Forget(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to go: some items by what they say, or one fact."""

    text: (
        Annotated[
            str,
            Meta(
                max_length=1000,
                description="words that stand in the items to remove, enough to mean only these",
            ),
        ]
        | UnsetType
    ) = UNSET
    fact: FactId | UnsetType = UNSET
    note: (
        Annotated[
            str, Meta(min_length=1, max_length=4096, description="only in this note")
        ]
        | UnsetType
    ) = UNSET
    expected_revision: Revision | UnsetType = UNSET


class Entity(Struct, frozen=True, forbid_unknown_fields=True):
    """Of whom or what."""

    name: Annotated[
        Name,
        Meta(
            description="a person, a place, an organisation or a thing, by name or alias"
        ),
    ]
    past: Annotated[
        bool, Meta(description="also facts that hold no more, as `timeline`")
    ] = False


class Stats(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing more."""
