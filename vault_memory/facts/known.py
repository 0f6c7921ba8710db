"""Collects what is known of a person or a thing: facts, the notes about a person, and what is recent."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.facts.entity_info import About
from vault_memory.search.calls import SearchCalls

DESCRIBING_KINDS = ("user", "rules")
"""Kinds of notes that say who a person is, and what the bot has to keep to"""
RECENT_NOTES = 3
"""Dated notes that are given of a person"""


@dataclass(frozen=True, slots=True)
class KnownNote:
    """A note, or a line of one as `NOTE:LINE`, with its text."""

    note: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a person or a thing."""

    entity: About
    notes: tuple[KnownNote, ...]
    """USER.md and RULES.md of a person"""
    recent: tuple[KnownNote, ...]
    """the last dated notes of a person, or lines that name a thing"""


def known_of(searcher: SearchCalls, entity: About, name: str, scopes: Sequence[str]) -> Known:
    """Returns what the notes of these scopes say about a name; `entity` has its facts."""
    # People write a name in any case, or an alias.
    people = {f"user:{called.casefold()}" for called in (name, entity.name)}
    own = [scope for scope in scopes if scope.casefold() in people]
    notes = _notes(searcher, own, DESCRIBING_KINDS)
    if own:
        recent = _notes(searcher, own, ("dated",))[-RECENT_NOTES:]
    else:
        # A thing has no notes of its own: the newest lines that name it are shown.
        recent = [
            KnownNote(f"{hit.note}:{hit.lines[0]}", hit.kind, hit.text) for hit in entity.hits
        ]
    return Known(entity, tuple(notes), tuple(recent))


def _notes(searcher: SearchCalls, scopes: Sequence[str], kinds: Collection[str]) -> list[KnownNote]:
    """Returns the notes of these kinds with their text, in the order of their names."""
    # Fault: without a scope, the list would be that of the complete vault.
    if not scopes:
        return []
    notes = []
    for info in searcher.notes(scopes):
        if info.kind not in kinds:
            continue
        try:
            text = searcher.read(info.note).text
        except (NoteNotFound, NoteUnreadable):
            # Fault: a person removed or locked the note after it was listed. The others
            # are shown.
            continue
        notes.append(KnownNote(info.note, info.kind, text))
    return notes
