"""What is known of a person or a thing, as JSON."""

from typing import NotRequired, TypedDict

from vault_memory.contract.answers import FactJson
from vault_memory.contract.fields import UnknownScopes


class AboutNoteJson(TypedDict):
    """A note, or a line of one as `NOTE:LINE`, with its text."""

    note: str
    kind: str
    text: str


class AboutJson(TypedDict):
    """What is known of a person or a thing.

    `notes` are USER.md and RULES.md of a person. `recent` has the last dated notes of a person, or
    lines that name a thing.
    """

    name: str
    type: str
    aliases: list[str]
    summary: str
    notes: list[AboutNoteJson]
    facts: list[FactJson]
    recent: list[AboutNoteJson]
    unknown_scopes: NotRequired[UnknownScopes]
