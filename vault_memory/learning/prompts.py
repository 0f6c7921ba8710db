"""Builds the questions of a learning cycle to the brain, from texts of the caller. Pure."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Literal, NamedTuple

from vault_memory.rules.learning.answer_schema import ENTITY_TYPES, TOPICS, TYPES
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


def room_for_turns(room: int, *, profile: str, facts: str) -> int:
    """Returns the characters for turns in a question. Notes get half of the room at most."""
    notes_size = known_size(_notes_of_person(profile, facts))
    return max(1, room - TURNS_FRAME - min(room // 2, notes_size))


class Question(NamedTuple):
    """What all questions of a cycle have."""

    template: str
    """the instructions, with names in double braces"""
    about: str
    """the person or channel, or the note"""
    night: date
    room: int
    """characters without the instructions"""

    def system(self, **values: str) -> str:
        """Returns the instructions with their values."""
        common = {"who": self.about, "note": self.about, "day": self.night.isoformat()}
        return filled(self.template, common | values)


def turns_prompt(
    role: Literal["extraction", "facts", "channel"],
    question: Question,
    excerpts: Iterable[Excerpt],
    *,
    profile: str,
    facts: str,
) -> Prompt:
    """Asks which memories, or which facts, the turns contain."""
    system = question.system(
        types=", ".join(TYPES),
        topics=", ".join(TOPICS),
        predicates=", ".join(PREDICATES),
        entity_types=", ".join(ENTITY_TYPES),
    )
    notes = _notes_of_person(profile, facts)
    return Prompt(role, system, notes, tuple(excerpts)).fitted(question.room)


def curation_prompt(
    question: Question, *, text: str, days: Mapping[date, str], facts: str
) -> Prompt:
    """Asks which small edits would correct or improve the note."""
    notes = (("note", text[:MOST_OF_A_NOTE]), *recent(days), ("facts", facts[:MOST_OF_A_NOTE]))
    prompt = Prompt("curation", question.system(), _not_empty(notes))
    return prompt.fitted(question.room)


def reflection_prompt(question: Question, *, days: Mapping[date, str], facts: str) -> Prompt:
    """Asks what the week as such says about the person."""
    notes = (*recent(days), ("facts", facts[:MOST_OF_A_NOTE]))
    prompt = Prompt("curation", question.system(), _not_empty(notes))
    return prompt.fitted(question.room)


def recent(days: Mapping[date, str], room: int = MOST_OF_DAYS) -> list[tuple[str, str]]:
    """Returns the newest dated notes that fit, in the order of their days. One may be cut."""
    notes: list[tuple[str, str]] = []
    for day in sorted(days, reverse=True):
        text = days[day].strip()
        if text and room > 0:
            notes.append((f"note-of-{day}", text[:room]))
            room -= len(text)
    return notes[::-1]


def _notes_of_person(profile: str, facts: str) -> tuple[tuple[str, str], ...]:
    return _not_empty((("profile", profile[:MOST_OF_A_NOTE]), ("facts", facts[:MOST_OF_A_NOTE])))


def _not_empty(notes: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in notes if text.strip())
