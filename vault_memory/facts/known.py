"""Collects what is known of a person or a thing: facts, the notes about a person, and what is recent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.facts.entity_info import About
from vault_memory.search.calls import SearchCalls
from vault_memory.search.note_reports import NoteInfo

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
    infos = searcher.notes(own)
    notes = _read(searcher, (info for info in infos if info.kind in DESCRIBING_KINDS))
    if own:
        dated = [info for info in infos if info.kind == "dated"]
        recent = list(_read(searcher, dated[-RECENT_NOTES:]))
    else:
        # A thing has no notes of its own: the newest lines that name it are shown.
        recent = [
            KnownNote(f"{hit.note}:{hit.lines[0]}", hit.kind, hit.text) for hit in entity.hits
        ]
    return Known(entity, tuple(notes), tuple(recent))


def _read(searcher: SearchCalls, infos: Iterable[NoteInfo]) -> Iterator[KnownNote]:
    """Yields these notes with their text."""
    for info in infos:
        try:
            text = searcher.read(info.note).text
        except (NoteNotFound, NoteUnreadable):
            # Fault: a person removed or locked the note after it was listed. The others
            # are shown.
            continue
        yield KnownNote(info.note, info.kind, text)
