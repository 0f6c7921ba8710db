"""What the calls return as JSON, on the command line, over HTTP and from the daemon.

Keys are stable, and more may be added. Paths are relative to the vault, with `/`; times are ISO
8601 with an offset. The functions in `vault_memory.api.json_contract` make these shapes.
"""

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from vault_memory.contract import (
    CutJson,
    FreshnessJson,
    NightState,
    RemainingJson,
    RememberOutcome,
    RemovedJson,
)
from vault_memory.contract.edit_answers import EditJson
from vault_memory.contract.fields import (
    CandidateKind,
    CopyCount,
    Count,
    Day,
    FadedState,
    LineRange,
    Needs,
    NotMemoryJson,
    OtherLines,
    Revision,
    UnknownFilterJson,
    UnknownScopes,
)
from vault_memory.contract.source_answers import SourceJson as SourceJson
from vault_memory.contract.source_answers import SourceTurnJson as SourceTurnJson
from vault_memory.contract.source_answers import SpokenJson as SpokenJson
from vault_memory.contract.source_answers import TokensJson
from vault_memory.contract.source_answers import WrittenJson as WrittenJson


class ErrorDetails(TypedDict):
    """What went wrong, and the next step. Some errors have more keys."""

    code: str
    message: str
    hint: str


class ErrorJson(TypedDict):
    """An error of a call."""

    error: ErrorDetails


class HealthJson(TypedDict):
    """The server answers."""

    ok: Literal[True]


# ---- search and context --------------------------------------------------------------


class WhyJson(TypedDict):
    """How the score of a hit came about."""

    terms: Annotated[dict[str, float], Meta(description="The parts of the score, by name")]
    arms: Annotated[
        dict[str, int], Meta(description="The searches that brought the hit, and its rank in each")
    ]


class HitJson(TypedDict):
    """Lines of a note that answer a question."""

    note: str
    lines: LineRange
    heading: str
    date: Day | None
    scope: str
    kind: str
    text: str
    score: float
    pending: NotRequired[Annotated[bool, Meta(description="Waits to be written into the note")]]
    ended: NotRequired[
        Annotated[bool, Meta(description="No longer holds: struck, past or replaced")]
    ]
    copies: NotRequired[CopyCount]
    also: NotRequired[OtherLines]
    state: NotRequired[FadedState]
    why: NotRequired[WhyJson]


class SearchAnswerJson(TypedDict):
    """The hits of a search, best first."""

    hits: list[HitJson]
    freshness: FreshnessJson
    left_out: NotRequired[
        Annotated[
            dict[str, int],
            Meta(
                description="How many chunks have faded, by state; with `why` also how "
                "many each filter excludes"
            ),
        ]
    ]
    unknown_scopes: NotRequired[UnknownScopes]
    unknown_filters: NotRequired[
        Annotated[
            list[UnknownFilterJson],
            Meta(description="Filters with a value that no searched note has"),
        ]
    ]
    words_missing: NotRequired[
        Annotated[
            bool, Meta(description="No note has these words: the hits are nearest in meaning")
        ]
    ]
    unsure: NotRequired[
        Annotated[bool, Meta(description="Each hit shares only a few words with the query")]
    ]
    not_memory: NotRequired[
        Annotated[
            NotMemoryJson,
            Meta(description="When nothing is found: Markdown files that the layout leaves out"),
        ]
    ]


class PartJson(TypedDict):
    """One part of a memory block."""

    kind: str
    note: str
    chars: Count


class ContextBlockJson(TypedDict):
    """The memory block for a prompt, its parts in order, and what was left out."""

    text: str
    parts: list[PartJson]
    cut: list[CutJson]
    freshness: FreshnessJson
    unknown_scopes: NotRequired[UnknownScopes]


# ---- notes ---------------------------------------------------------------------------


class NoteInfoJson(TypedDict):
    """One note of a list."""

    note: str
    scope: str
    kind: str
    revision: Revision
    bytes: Count


class NotesJson(TypedDict):
    """The notes that search reads."""

    notes: list[NoteInfoJson]
    unknown_scopes: NotRequired[UnknownScopes]


class NoteTextJson(TypedDict):
    """A note as it is now."""

    note: str
    revision: Revision
    text: str
    sections: list[str]


# ---- conversations and memory --------------------------------------------------------


class RecordedJson(TypedDict):
    """Where a turn was recorded; null twice for a turn that is not recorded."""

    id: str | None
    note: str | None


class CommittedJson(TypedDict):
    """An item that was written."""

    id: str
    note: str
    kind: CandidateKind


class HeldReasonJson(TypedDict):
    """A candidate that waits."""

    id: str
    reason: str
    needs: Needs


class DroppedJson(TypedDict):
    """A candidate that is not kept."""

    ref: Annotated[str, Meta(description="Id of the turn")]
    reason: str


HeldJson = TypedDict(
    "HeldJson",
    {
        "id": str,
        "scope": str,
        "ts": str,
        "kind": CandidateKind,
        "text": str,
        "class": str,
        "reason": str,
        "needs": Needs,
        "turns": Annotated[list[str], Meta(description="Ids of the turns that say it")],
        "expires": Annotated[Day, Meta(description="When it is given up")],
    },
)
"""A candidate that waits for more turns"""


class HeldListJson(TypedDict):
    """The candidates that wait for more turns, the oldest first."""

    held: list[HeldJson]


class DecidedJson(TypedDict):
    """What became of a held candidate."""

    id: str
    outcome: Literal["promoted", "rejected", "pending"]
    note: str


class FeedbackJson(TypedDict):
    """The feedback was logged."""

    ok: Literal[True]


class EndedJson(TypedDict):
    """What became of what a session told."""

    committed: list[CommittedJson]
    held: list[HeldReasonJson]
    dropped: list[DroppedJson]
    waiting: Annotated[list[str], Meta(description="Ids of own turns that the model has not read")]


class CompactedJson(TypedDict):
    """The summary of a conversation: its id, its note and its text."""

    id: str
    note: str
    preview: str


class RememberedJson(TypedDict):
    """What became of a text to remember."""

    outcome: RememberOutcome
    id: str
    note: str
    reason: str
    hint: NotRequired[Annotated[str, Meta(description="What to do about a text that is refused")]]


class ScopeNightJson(TypedDict):
    """What the night of a person or a channel did."""

    scope: str
    night: Day
    gathered: Annotated[Count, Meta(description="Turns that were read")]
    memories: Count
    facts: Count
    rules: Count
    duplicates: Annotated[Count, Meta(description="Texts that the notes say already")]
    conflicts: Annotated[
        Count, Meta(description="Contradictions that were settled, or that a person is asked about")
    ]
    curated: Count
    proposed: Count
    refused: Count
    pruned: Count
    reflected: Count
    more: Annotated[Count, Meta(description="Turns that did not fit; the next run reads them")]
    waiting: Annotated[Count, Meta(description="Writes that wait until their notes are free")]
    rung: Annotated[str, Meta(description="How the language model answered")]
    model: str
    reason: str
    state: NightState
    idle: Annotated[Count, Meta(description="Nights in a row in which nothing was learned")]
    session: Annotated[str, Meta(description="The ended conversation; empty for a night")]
    heard: Annotated[Count, Meta(description="Turns that were read when their conversations ended")]
    learned: list[str]
    notes: list[str]
    committed: list[CommittedJson]
    held: list[HeldReasonJson]
    dropped: list[DroppedJson]
    tokens: Annotated[TokensJson, Meta(description="What the scope's questions cost this month")]


class SleepJson(TypedDict):
    """What the nights of some scopes did, and the file with the report."""

    scopes: list[ScopeNightJson]
    night: Day | None
    report: str | None


class FactJson(TypedDict):
    """A fact."""

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: Day | None
    valid_until: Day | None
    temporary: bool
    confidence: float
    ref: str
    origin: str
    scope: str
    ended: Annotated[bool, Meta(description="It no longer holds")]
    confirmed: Annotated[bool, Meta(description="The person said that it is right")]
    supersedes: str
    inferred: Annotated[bool, Meta(description="Follows from another fact, and is on no page")]
    strength: NotRequired[
        Annotated[float, Meta(description="With `below`: its confidence, less what has faded")]
    ]
    unclear: NotRequired[
        Annotated[list[str], Meta(description="The values between which a person has to decide")]
    ]


class FactsJson(TypedDict):
    """Facts."""

    facts: list[FactJson]
    unknown_scopes: NotRequired[UnknownScopes]


class FactOutcomeJson(TypedDict):
    """What became of a fact."""

    outcome: str
    id: str


class FactChangeJson(FactOutcomeJson, EditJson):
    """What became of a fact, with the edit of its page."""


class RelationshipJson(TypedDict):
    """A relationship between two entities, and its strength from 0 to 1."""

    subject: str
    predicate: str
    object: str
    strength: float


class EntityJson(TypedDict):
    """Everything about a person or a thing."""

    name: str
    type: str
    aliases: list[str]
    summary: str
    facts: list[FactJson]
    relationships: list[RelationshipJson]
    mentions: Count
    hits: list[HitJson]
    unknown_scopes: NotRequired[UnknownScopes]


class RetractedPlaceJson(RemovedJson):
    """How much a bot removed from a note, and the audit record that `undo` takes back."""

    audit_id: str | None


class ProposedRemovalJson(RemovedJson):
    """How much is proposed for removal from a note, and the page and ids of the proposals."""

    inbox: str
    ids: list[str]


class RetractedJson(TypedDict):
    """What a bot took back. `remaining` is 0 when nothing remains."""

    matches: Count
    removed: list[RetractedPlaceJson]
    proposed: list[ProposedRemovalJson]
    remaining: list[RemainingJson] | Literal[0]
