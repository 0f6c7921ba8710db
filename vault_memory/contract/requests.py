"""What a caller may say, field by field; any other field is refused.

A face takes the struct that fits it. MCP tools take the ones that a model fills in, HTTP adds what
the program of a bot knows, and the socket of the daemon adds scopes and times. None of the structs
for MCP and HTTP names a person, a channel or a group: configuration and tokens decide whose notes
are open. An optional field may be absent or null.
"""

import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from vault_memory.contract import (
    LONGEST_WAIT_SECONDS,
    MOST_HITS,
    Origin,
    Purpose,
    RecordMode,
    Role,
    SearchedKind,
    SearchMode,
    Source,
)
from vault_memory.contract.fields import Count

Day = datetime.date
Line = Annotated[str, Meta(min_length=1, max_length=200)]
LongText = Annotated[str, Meta(max_length=1 << 20)]
NotePath = Annotated[str, Meta(min_length=1, max_length=4096)]
DayInWords = Annotated[str, Meta(min_length=1, max_length=100)]
Limit = Annotated[int, Meta(ge=1, le=MOST_HITS)]
Revision = Annotated[
    str,
    Meta(
        pattern="^[0-9a-f]{12,64}$",
        description="As memory_get gave it; if the note has changed since, nothing is done",
    ),
]
FactId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="A fact's `id`, or its beginning; memory_entity lists facts",
    ),
]
Sentence = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        description="One sentence that can be understood by itself later",
    ),
]


# ---- search and context --------------------------------------------------------------


class SearchQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """A question, and filters for the answer."""

    query: Annotated[
        LongText, Meta(description="Words, a question or a whole message, in any language")
    ]
    limit: Annotated[
        Limit | None, Meta(description="How many hits at most; else as `[recall]` says")
    ] = None
    since: Annotated[
        DayInWords | None,
        Meta(
            description="Only text of this day or later: 2026-01-31, 2026-01, `yesterday`, "
            "`last week`"
        ),
    ] = None
    until: Annotated[DayInWords | None, Meta(description="Only text of this day or earlier")] = None
    topic: Annotated[Line | None, Meta(description="Only text with this topic, or with none")] = (
        None
    )
    entity: Annotated[
        Line | None,
        Meta(description="Only text that names this person or thing, or an alias of it"),
    ] = None
    kinds: Annotated[
        list[SearchedKind] | None,
        Meta(description="Only these kinds; `transcript` is what was said"),
    ] = None
    tags: Annotated[
        list[Line] | None,
        Meta(description="Only notes with each of these tags; `a` includes `a/b`"),
    ] = None
    where: Annotated[
        list[Line] | None,
        Meta(
            description="Only notes with each of these fields of front matter: "
            "`status=done`, or `status` for any value"
        ),
    ] = None
    paths: Annotated[
        list[Line] | None,
        Meta(
            description="Only notes below one of these paths; `*` and `**` are globs; "
            "at most 16, each of 200 letters and 8 stars"
        ),
    ] = None
    copies: Annotated[
        bool, Meta(description="Each line that says the same as another is a hit, too")
    ] = False
    mode: Annotated[
        SearchMode | None,
        Meta(description="How to rank, such as `recent` or `important`; else as `[recall]` says"),
    ] = None
    archived: Annotated[
        bool, Meta(description="Also items that have faded; each hit says its `state`")
    ] = False


class SearchArguments(SearchQuestion, frozen=True, forbid_unknown_fields=True):
    """A question, and filters for the answer."""

    # A model has room for fewer hits than a program.

    limit: Annotated[Limit, Meta(description="How many hits at most")] = 8


OwnSession = Annotated[
    Line | None, Meta(description="The open conversation, whose own turns are left out")
]


class SearchRequest(SearchQuestion, frozen=True, forbid_unknown_fields=True):
    """A question, filters for the answer, and how to rank it."""

    why: Annotated[bool, Meta(description="Explain the score of each hit")] = False
    session: OwnSession = None


class SearchCall(SearchRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A search, as a process asks the daemon for it."""

    scopes: list[str]
    now: datetime.datetime | None = None
    preview: bool = False


class ContextArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The message that is about to be answered."""

    prompt: Annotated[
        LongText, Meta(description="What was said; empty: only what belongs into each prompt")
    ] = ""
    purpose: Annotated[
        Purpose, Meta(description="Others read a `briefing`: nothing personal is in it")
    ] = "chat"
    budget: Annotated[
        Count | None,
        Meta(
            description="Characters of the whole block, of which user and channel memory are "
            "never cut; 0: no limit"
        ),
    ] = None
    as_of: Annotated[
        Day | None, Meta(description="As it was at the end of this day: 2026-01-31")
    ] = None


class ContextBody(ContextArguments, frozen=True, forbid_unknown_fields=True):
    """The message that is about to be answered, and its conversation."""

    session: OwnSession = None
    confirmation: Annotated[
        LongText, Meta(description="The task that the person has just confirmed")
    ] = ""
    automatic: Annotated[
        bool, Meta(description="Nobody asked: lines are looked up only as `[memory_search]` allows")
    ] = False


class ContextCall(ContextBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A memory block, as a process asks the daemon for it."""

    scopes: list[str]
    private: bool = False
    now: datetime.datetime | None = None
    preview: bool = False


# ---- conversations -------------------------------------------------------------------


class TurnRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A turn of a conversation: words of the person of the token, or to them."""

    session: Annotated[Line, Meta(description="The conversation of the turn; any text")]
    role: Annotated[Role, Meta(description="Who speaks: the person, or the bot to them, …")]
    text: Annotated[str, Meta(min_length=1, max_length=1 << 20, description="What was said")]
    source: Annotated[
        str,
        Meta(
            pattern="^[a-z][a-z0-9_-]{0,39}$",
            description="talk, email, cli, voice, web, cron, or another word",
        ),
    ] = "talk"
    origin: Annotated[
        Origin | None,
        Meta(
            description="Whose words they are; only the owner's can become rules. By default "
            "it follows from the source: talk, chat, cli, terminal, voice and page are the owner's"
        ),
    ] = None
    mode: Annotated[RecordMode, Meta(description="Nothing of an incognito session is written")] = (
        "persistent"
    )
    silent: Annotated[
        bool, Meta(description="The turn of a job that talks to nobody: it is not recorded")
    ] = False
    automated: Annotated[
        bool,
        Meta(
            description="Said by a scheduled job, a webhook or a subagent: nothing is learned "
            "from it"
        ),
    ] = False


class SessionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A conversation."""

    session: Annotated[Line, Meta(description="The conversation that is over")]


class FeedbackRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person thinks of an answer or of something that is kept."""

    verdict: Literal["good", "bad"]
    about: Annotated[
        Annotated[str, Meta(max_length=200)],
        Meta(description="The id of an item, a fact or a turn; empty for none"),
    ] = ""
    text: Annotated[
        Annotated[str, Meta(max_length=1000)],
        Meta(description="The person's words; empty for none"),
    ] = ""


class CompactRequest(SessionRequest, frozen=True, forbid_unknown_fields=True):
    """A conversation that is over, and its summary."""

    text: Annotated[
        LongText, Meta(description="Its summary, an item a line; else the person is quoted")
    ] = ""


class CompactArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The summary of a conversation that is over."""

    text: Annotated[
        LongText, Meta(description="What was asked, decided and left open, an item a line")
    ] = ""
    session: Annotated[Line | None, Meta(description="The conversation; else the open one")] = None


# ---- notes and edits -----------------------------------------------------------------


class NoteRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """One note."""

    note: Annotated[NotePath, Meta(description="Its path in the vault, with `/`")]


class NoteLinesArguments(NoteRequest, frozen=True, forbid_unknown_fields=True):
    """A note, or some lines of it."""

    first_line: Annotated[int, Meta(ge=1, description="The first line to read")] = 1
    last_line: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="The last line to read; else the note's last"),
    ] = None


class RememberRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A text to keep."""

    text: Sentence


class RememberArguments(RememberRequest, frozen=True, forbid_unknown_fields=True):
    """A text to keep."""

    expected_revision: Revision | None = None


class EditCall(Struct, frozen=True):
    """Ops on a note, as a light command asks the daemon for them."""

    note: str
    ops: list[Any]
    source: Source
    expected: str | None = None
    merge: bool = False
    dry_run: bool = False
    now: datetime.datetime | None = None


class ChangesCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A wait for the next change of the vault, as a process asks the daemon for it."""

    since: Annotated[str, Meta(max_length=100)] = ""
    """The `id` of the last answer; "" asks for the present id"""
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)] = 0.0
    """Seconds"""


class RecordCall(Struct, frozen=True):
    """A turn, as a light command asks the daemon to record it."""

    text: str
    session: str
    role: Role
    moment: tuple[float, int]
    """Seconds since 1970, and 30 random bits: together they are the id of the turn"""
    user: str | None = None
    channel: str | None = None
    source: str = "talk"
    origin: Origin | None = None
    silent: bool = False
    automated: bool = False
    again: bool = False
    """Whether an earlier call may have recorded it"""


# ---- facts ---------------------------------------------------------------------------


class FactsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The person or the thing that facts are about."""

    entity: Annotated[Line | None, Meta(description="Only facts about this person or thing")] = None
    on: Annotated[Day | None, Meta(description="The facts that held on this day: 2026-01-31")] = (
        None
    )
    below: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="Only facts of less strength, the weakest first"),
    ] = None


class CorrectArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact, and what is right about it."""

    fact: FactId
    object: Annotated[
        Annotated[str, Meta(min_length=1, max_length=600)] | None,
        Meta(description="What is right instead"),
    ] = None
    subject: Annotated[Line | None, Meta(description="Who or what the fact is really about")] = None
    predicate: Annotated[Line | None, Meta(description="What it really says, such as works_at")] = (
        None
    )
    valid_from: Annotated[Day | None, Meta(description="The day from which it really holds")] = None
    valid_until: Annotated[
        Day | None, Meta(description="The last day on which it really holds")
    ] = None
    expected_revision: Revision | None = None


class ConfirmArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that is right."""

    fact: FactId
    expected_revision: Revision | None = None


class ForgetArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to forget: some items by their words, or one fact."""

    text: Annotated[
        Annotated[str, Meta(max_length=1000)] | None,
        Meta(description="Words of the items to remove, enough of them to mean no other item"),
    ] = None
    fact: FactId | None = None
    note: Annotated[NotePath | None, Meta(description="Only in this note")] = None
    expected_revision: Revision | None = None


class EntityArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A person or a thing."""

    name: Annotated[
        Line, Meta(description="A person, a place, an organisation or a thing, by name or alias")
    ]
    past: Annotated[bool, Meta(description="Also facts that no longer hold, as `timeline`")] = False
    on: Annotated[
        Day | None, Meta(description="The facts that held on this day, as known now: 2026-01-31")
    ] = None


class SourceArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Something remembered, or said."""

    ref: Annotated[
        NotePath,
        Meta(description="`NOTE:LINE`, or the id of a turn, a fact, a held candidate or a change"),
    ]
    around: Annotated[int, Meta(ge=0, le=50, description="How many turns before and after it")] = 2


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A request without fields."""
