"""Once a week: what the week was about, in a note of its own, when enough was learned to say something.

A model writes it, from the dated notes and the facts. Without one it is counted: what most was about, and what became
known.
"""

from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError
from vault_memory.learning import prompts
from vault_memory.learning.note_lines import ops_for
from vault_memory.learning.unread_turns import moment_of
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.facts.fact import Fact, read_facts
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.search.tokens import clean, shortened

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

PAUSE_DAYS = 6
"""At least, between two reflections"""
LEAST_FACTS = 3
"""Of the last seven days"""
MOST_LINES = 8
LONGEST_LINE = 300
WEEK = "The week"


def reflect(night: "LearningCycle") -> None:
    """Weekly, for a person, when at least three facts were learned in seven days."""
    places, today = night.places, night.night
    if (
        night.kind != "user"
        or night.out.state == "failed"
        or night.out.more
        or not places.reflections
    ):
        return
    if not night.gathered.turns and not night.last.newest:
        return  # it never heard a word
    if (
        night.last.reflected
        and (today - date.fromisoformat(night.last.reflected)).days < PAUSE_DAYS
    ):
        return
    fresh = _learned_this_week(night)
    if len(fresh) < LEAST_FACTS:
        return
    days = {
        day: night.text(note)
        for day, note in places.dated
        if today - timedelta(days=7) < day <= today
    }
    lines = _told(night, days) or _counted(night, fresh)
    note = places.reflection_of(today)
    marked = [f"{line} ({today}, topic:weekly)" for line in lines]
    told = night.edit("reflection", note, ops_for(night.doc(note), WEEK, marked))
    night.out.reflected = len(told.applied)


def _learned_this_week(night: "LearningCycle") -> list[Fact]:
    """The facts that hold and became known within seven days, as the audit of their page tells, or began then."""
    note = night.places.facts
    facts = [
        fact for fact in read_facts(night.doc(note), night.scope) if not fact.struck
    ]
    if len(facts) < LEAST_FACTS:
        return []
    learned: set[str] = set()
    for record in night.desk.curator.trail.of(note):
        if _within_week(
            moment_of(record.ts).astimezone(night.zone).date(), night.night
        ):
            learned.update(
                id_ for done in record.applied if (id_ := _stated(done.remark))
            )
    return [
        fact
        for fact in facts
        if fact.id in learned or _within_week(fact.valid_from, night.night)
    ]


def _stated(remark: str) -> str:
    """The id of the fact that became known by an op; empty when the op did something else."""
    match remark.split():
        case ["fact", id_, ("added" | "refined" | "superseded" | "corrected")]:
            return id_
    return ""


def _within_week(day: date | None, night: date) -> bool:
    return day is not None and 0 <= (night - day).days < 7


def _told(night: "LearningCycle", days: dict[date, str]) -> list[str]:
    """What a model says about the week; nothing when there is none."""
    try:
        prompt = prompts.reflection_prompt(
            night.desk.instructions("reflection"),
            who=night.name,
            night=night.night,
            days=days,
            facts=night.text(night.places.facts),
            room=night.wanted.room,
        )
        said = night.ask("reflection", prompt)
    except VaultMemoryError:
        return []
    lines = (
        str(op.get("line", ""))
        for op in read_answer(said, ()).ops
        if op.get("op") == "append"
    )
    plain = (" ".join(clean(line).split()) for line in lines)
    return [shortened(line, LONGEST_LINE) for line in plain if line][:MOST_LINES]


def _counted(night: "LearningCycle", fresh: list[Fact]) -> list[str]:
    topics: Counter[str] = Counter()
    for day, note in night.places.dated:
        if 0 <= (night.night - day).days < 7:
            topics.update(
                parse_item(item.text).topic for item in items_of(night.doc(note))
            )
    del topics[""]
    about = ", ".join(
        topic
        for topic, _ in sorted(topics.items(), key=lambda one: (-one[1], one[0]))[:3]
    )
    said = [
        f"{fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}"
        for fact in fresh[: MOST_LINES - 1]
    ]
    return ([f"Most was about {about}"] if about else []) + [
        shortened(f"New: {one}", LONGEST_LINE) for one in said
    ]
