"""Builds the questions of a learning cycle to the brain, from texts of the caller. Pure."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Literal

from vault_memory.rules.learning.answer_schema import TOPICS, TYPES
from vault_memory.rules.learning.model_prompt import (
    TURNS_FRAME,
    Excerpt,
    Prompt,
    filled,
    known_size,
)

MOST_OF_DAYS = 8_000
"""Characters of dated notes in a prompt for curation"""
MOST_OF_A_NOTE = 24_000
"""Characters of USER.md or FACTS.md in a prompt, if there is room"""
PREDICATES = (
    "works_at",
    "lives_in",
    "has_role",
    "has_status",
    "staying_in",
    "visiting",
    "knows",
    "friend_of",
    "married_to",
    "parent_of",
    "child_of",
    "sibling_of",
    "manages",
    "reports_to",
    "collaborates_with",
    "member_of",
    "founded",
    "uses",
    "created",
    "likes",
    "dislikes",
    "allergic_to",
    "speaks",
    "has_pet",
    "owns",
    "is_a",
    "also_known_as",
)
"""Suggestions, so that equal relations get equal names"""


def room_for_turns(
    room: int,
    *,
    profile: str,
    facts: str,
) -> int:
    """Returns the characters for turns in a question. Notes get half of the room at most."""
    notes_size = known_size(_notes_of_person(profile, facts))
    return max(1, room - TURNS_FRAME - min(room // 2, notes_size))


def turns_prompt(
    role: Literal["extraction", "facts"],
    template: str,
    *,
    who: str,
    night: date,
    profile: str,
    facts: str,
    excerpts: Iterable[Excerpt],
    room: int,
) -> Prompt:
    """Asks which memories, or which facts, the turns contain."""
    values = {
        "who": who,
        "day": night.isoformat(),
        "types": ", ".join(TYPES),
        "topics": ", ".join(TOPICS),
        "predicates": ", ".join(PREDICATES),
    }
    prompt = Prompt(
        role,
        filled(template, values),
        _notes_of_person(profile, facts),
        tuple(excerpts),
    )
    return prompt.fitted(room)


def curation_prompt(
    template: str,
    *,
    note: str,
    night: date,
    text: str,
    days: Mapping[date, str],
    facts: str,
    room: int,
) -> Prompt:
    """Asks which small edits would correct or improve the note."""
    values = {"note": note, "day": night.isoformat()}
    notes = (
        ("note", text[:MOST_OF_A_NOTE]),
        *recent(days),
        ("facts", facts[:MOST_OF_A_NOTE]),
    )
    prompt = Prompt("curation", filled(template, values), _not_empty(notes))
    return prompt.fitted(room)


def reflection_prompt(
    template: str,
    *,
    who: str,
    night: date,
    days: Mapping[date, str],
    facts: str,
    room: int,
) -> Prompt:
    """Asks what the week as such says about the person."""
    values = {"who": who, "day": night.isoformat()}
    notes = (*recent(days), ("facts", facts[:MOST_OF_A_NOTE]))
    prompt = Prompt("curation", filled(template, values), _not_empty(notes))
    return prompt.fitted(room)


def recent(
    days: Mapping[date, str],
    room: int = MOST_OF_DAYS,
) -> list[tuple[str, str]]:
    """Returns the newest dated notes that fit, in the order of their days. One may be cut."""
    notes: list[tuple[str, str]] = []
    for day in sorted(days, reverse=True):
        text = days[day].strip()
        if text and room > 0:
            notes.append((f"note-of-{day}", text[:room]))
            room -= len(text)
    return notes[::-1]


def _notes_of_person(
    profile: str,
    facts: str,
) -> tuple[tuple[str, str], ...]:
    return _not_empty(
        (("profile", profile[:MOST_OF_A_NOTE]), ("facts", facts[:MOST_OF_A_NOTE]))
    )


def _not_empty(notes: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in notes if text.strip())
