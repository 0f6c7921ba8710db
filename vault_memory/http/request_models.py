"""What may be asked, field by field. A field that stands nowhere here is refused: whose notes, the token says alone."""

import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from vault_memory.rules.paths.layout import KINDS

Line = Annotated[str, Meta(min_length=1, max_length=200)]
Long = Annotated[str, Meta(max_length=1 << 20)]
Kind = Literal[
    "user",
    "channel",
    "memory",
    "note",
    "dated",
    "facts",
    "rules",
    "reflection",
    "persona",
    "inbox",
    "transcript",
    "audit",
]
Mode = Literal["balanced", "keyword", "semantic", "rrf"]


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """A request that says nothing more."""


class Context(Struct, frozen=True, forbid_unknown_fields=True):
    """What a bot is about to be asked."""

    prompt: Annotated[
        Long,
        Meta(
            description="What the person wrote; empty: only what belongs into each prompt"
        ),
    ] = ""
    purpose: Annotated[
        Literal["chat", "briefing"],
        Meta(description="A briefing is read by others: nothing personal is in it"),
    ] = "chat"
    budget: Annotated[
        Annotated[int, Meta(ge=0, le=1_000_000)] | None,
        Meta(
            description="Letters of the whole block, of which user and channel memory are never cut; 0: no limit"
        ),
    ] = None
    session: Annotated[
        Line | None, Meta(description="The conversation, whose own turns are left out")
    ] = None
    confirmation: Annotated[
        Long, Meta(description="What a task was about that was just confirmed")
    ] = ""
    automatic: Annotated[
        bool,
        Meta(
            description="Nobody asked: the prompt is looked up only as `[memory_search]` allows"
        ),
    ] = False


class Turn(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that was said: by the person of the token, or to them."""

    session: Annotated[
        Line, Meta(description="The conversation it belongs to; any text")
    ]
    role: Annotated[
        Literal["user", "assistant", "system", "tool"],
        Meta(description="Who speaks: the person, or the bot to them, …"),
    ]
    text: Annotated[
        str, Meta(min_length=1, max_length=1 << 20, description="What was said")
    ]
    source: Annotated[
        str,
        Meta(
            pattern="^[a-z][a-z0-9_-]{0,39}$",
            description="talk, email, cli, voice, web, cron, or another word",
        ),
    ] = "talk"
    origin: Annotated[
        Literal["owner", "person", "channel", "email", "web", "tool", "document"],
        Meta(description="Whose words they are; only the owner's can become rules"),
    ] = "owner"
    mode: Annotated[
        Literal["persistent", "incognito"],
        Meta(description="Nothing of an incognito session is written"),
    ] = "persistent"
    silent: Annotated[
        bool,
        Meta(description="The turn of a job that talks to nobody: it is not recorded"),
    ] = False
    automated: Annotated[
        bool,
        Meta(
            description="Said by a scheduled job, a webhook or a subagent: nothing is learned from it"
        ),
    ] = False


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    """A question, and what the answer is narrowed to."""

    query: Annotated[
        Long, Meta(description="Words, a question or a whole prompt, in any language")
    ]
    mode: Annotated[
        Mode | None, Meta(description="How to rank; else as `[recall]` says")
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=200)] | None,
        Meta(description="How many hits; else as `[recall]` says"),
    ] = None
    topic: Annotated[Line | None, Meta(description="Only what is about it")] = None
    entity: Annotated[
        Line | None,
        Meta(description="Only what names this person or thing, or an alias of it"),
    ] = None
    since: Annotated[datetime.date | None, Meta(description="The first day")] = None
    until: Annotated[datetime.date | None, Meta(description="The last day")] = None
    kinds: Annotated[
        Annotated[list[Kind], Meta(max_length=len(KINDS))] | None,
        Meta(description="Only notes of these kinds"),
    ] = None
    why: Annotated[bool, Meta(description="How each hit came by its score")] = False
    session: Annotated[
        Line | None,
        Meta(description="The open conversation, whose own turns are left out"),
    ] = None


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """One note."""

    note: Annotated[
        str,
        Meta(
            min_length=1, max_length=4096, description="Its path in the vault, with `/`"
        ),
    ]


class Session(Struct, frozen=True, forbid_unknown_fields=True):
    """A conversation."""

    session: Annotated[Line, Meta(description="The conversation that is over")]


class Remember(Struct, frozen=True, forbid_unknown_fields=True):
    """A text that the person wants to be kept."""

    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1000,
            description="In one sentence, as it is to stand there",
        ),
    ]


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    """Of whom or what."""

    entity: Annotated[
        Line | None, Meta(description="Only what is known of this person or thing")
    ] = None
