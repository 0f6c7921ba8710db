"""The JSON contract: one shape for each request and each answer, which every face derives from.

`requests` has what a caller may say. `answers`, `edit_answers`, `setup_answers` and
`status_answers` have what the calls and commands return. `tool_answers` has the same for a model,
in quotations. `as_json` makes answers of what the calls return. Each type describes and limits its fields, so the OpenAPI document, the schemas of
the MCP tools and the checks of arguments cannot differ. This module holds the words and the small
shapes that the others share. It imports nothing that takes time: a hook loads it.
"""

from typing import Any, Literal, NotRequired, TypedDict

SearchedNoteKind = Literal[
    "user",
    "channel",
    "memory",
    "note",
    "dated",
    "episode",
    "facts",
    "rules",
    "reflection",
    "canvas",
    "transcript",
]
"""Kinds of notes that search reads"""
SearchedKind = Literal[SearchedNoteKind, "document"]
"""Kinds of notes, and of other files, that search finds"""
NoteKind = Literal[SearchedNoteKind, "persona", "inbox", "audit", "ledger"]
"""Kinds of notes that a layout knows"""
SearchMode = Literal[
    "balanced",
    "keyword",
    "semantic",
    "rrf",
    "recent",
    "important",
    "historical",
    "comprehensive",
    "general",
]
"""How the hits of a search are ranked"""
NEAREST = {
    "words_missing": "no note has these words; nearest in meaning:",
    "unsure": "nothing surely fits; nearest to it:",
}
"""Key of an answer of `search` → what introduces its hits"""
ItemState = Literal["active", "stale", "archived", "deleted"]
"""How far an item has faded; `deleted` ones are still in their notes"""
SemanticState = Literal["ready", "warming", "off"]
"""Whether vectors take part in a search"""
Purpose = Literal["chat", "briefing"]
"""Who reads the answer to a prompt: the person, or others, too"""
Role = Literal["user", "assistant", "system", "tool"]
"""Who speaks in a turn"""
Origin = Literal["owner", "person", "channel", "email", "web", "tool", "document"]
"""Whose words a text is"""
RecordMode = Literal["persistent", "incognito"]
"""Whether anything of a session is written"""
Source = Literal["tool", "nightly", "cli"]
"""Who edits: the bot while it talks, the bot at night, or a person"""
RememberOutcome = Literal["added", "duplicate", "proposed", "held", "refused", "pending"]
"""What became of a text to remember"""
NightState = Literal["done", "quiet", "partial", "failed"]
"""How a night ended: `quiet` without turns, `partial` with turns that did not fit"""
SyncState = Literal["ok", "working", "waiting", "held", "stopped", "off"]
"""The state of sync between two passes"""

MOST_HITS = 1_000
"""The largest `limit` of a search, on each face"""
LONGEST_WAIT_SECONDS = 15
"""How long a client may wait for the next change of the vault"""


class FreshnessJson(TypedDict):
    """How current an answer is."""

    stale_files: list[str]
    semantic: SemanticState
    reason: str
    missing_notes: NotRequired[int]


class CutJson(TypedDict):
    """Text that was left out of a memory block."""

    kind: str
    reason: str


class RemovedJson(TypedDict):
    """How much was removed from a place."""

    place: str
    count: int


class RemainingJson(TypedDict):
    """A place where a text still is."""

    place: str
    why: str


def introductions(answer: Any) -> list[str]:
    """Return what introduces the hits of a search; empty where they answer it."""
    return [NEAREST[key] for key in NEAREST if key in answer]


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: the fields of a record are the keys, in their order.

    A named tuple leaves out the fields that have their default. A data class names in `IF_ANY` those
    that it leaves out unless they say something, and in `HIDDEN` those that JSON never has.
    """
    if isinstance(value, str | int | float | None):
        return value
    if hasattr(value, "items"):
        return {key: as_json(member) for key, member in value.items()}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    names = _keys_of(value)
    if names is None:
        return [as_json(member) for member in value]
    return {name: as_json(getattr(value, name)) for name in names}


def _keys_of(value: Any) -> list[str] | None:
    """Return the fields of a record that its JSON has; None for a list."""
    if hasattr(value, "_fields"):
        names = value._fields
        defaults = value._field_defaults
        left_out = {name for name in defaults if getattr(value, name) == defaults[name]}
    elif hasattr(value, "__dataclass_fields__"):
        names = value.__dataclass_fields__
        left_out = {
            *getattr(value, "HIDDEN", ()),
            *(name for name in getattr(value, "IF_ANY", ()) if not getattr(value, name)),
        }
    else:
        return None
    return [name for name in names if name not in left_out]
