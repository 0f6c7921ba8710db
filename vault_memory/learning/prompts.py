"""What a night asks the brain, and what it is shown of the notes. Pure: the texts are given."""

from collections.abc import Iterable, Mapping
from datetime import date

from vault_memory.rules.learning.answer_schema import TOPICS, TYPES
from vault_memory.rules.learning.model_prompt import (
    TURNS_FRAME,
    Excerpt,
    Prompt,
    filled,
    known_size,
)

MOST_OF_DAYS = 8_000
"""Characters of dated notes that curation gets to see"""
MOST_OF_A_NOTE = 24_000
"""Characters of USER.md or FACTS.md that a prompt holds, when there is room for them"""
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
"""Suggested, so that the same is called the same"""


def room_for_turns(room: int, *, profile: str, facts: str) -> int:
    """Characters that the lines of turns may have in a question; what is known already gets half of it at most."""
    known = known_size(_known_of_person(profile, facts))
    return max(1, room - TURNS_FRAME - min(room // 2, known))


def extraction_prompt(
    template: str,
    *,
    who: str,
    night: date,
    profile: str,
    facts: str,
    excerpts: Iterable[Excerpt],
    room: int,
) -> Prompt:
    """What is worth remembering of what was said?"""
    values = {
        "who": who,
        "day": night.isoformat(),
        "types": ", ".join(TYPES),
        "topics": ", ".join(TOPICS),
        "predicates": ", ".join(PREDICATES),
    }
    known = _known_of_person(profile, facts)
    return Prompt(
        "extraction", filled(template, values), known, tuple(excerpts)
    ).fitted(room)


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
    """Which small edits would make the note truer?"""
    values = {"note": note, "day": night.isoformat()}
    known = (
        ("note", text[:MOST_OF_A_NOTE]),
        *recent(days),
        ("facts", facts[:MOST_OF_A_NOTE]),
    )
    return Prompt("curation", filled(template, values), _there(known)).fitted(room)


def reflection_prompt(
    template: str,
    *,
    who: str,
    night: date,
    days: Mapping[date, str],
    facts: str,
    room: int,
) -> Prompt:
    """What does the week say about the person, beyond its days?"""
    values = {"who": who, "day": night.isoformat()}
    known = (*recent(days), ("facts", facts[:MOST_OF_A_NOTE]))
    return Prompt("curation", filled(template, values), _there(known)).fitted(room)


def recent(days: Mapping[date, str], room: int = MOST_OF_DAYS) -> list[tuple[str, str]]:
    """The newest dated notes that fit, the oldest of them first; the last one that does not is cut."""
    found: list[tuple[str, str]] = []
    for day in sorted(days, reverse=True):
        text = days[day].strip()
        if text and room > 0:
            found.append((f"note-of-{day}", text[:room]))
            room -= len(text)
    return found[::-1]


def _known_of_person(profile: str, facts: str) -> tuple[tuple[str, str], ...]:
    return _there(
        (("profile", profile[:MOST_OF_A_NOTE]), ("facts", facts[:MOST_OF_A_NOTE]))
    )


def _there(known: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in known if text.strip())
