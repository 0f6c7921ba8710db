"""Writes once a week what the week was about, in a note of its own.

A model writes it from the lines that were learned in the week, and the facts. Without a model, it
says what is new, in the words of the person. A week with little news gets no note.
"""

from datetime import date
from itertools import chain
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError
from vault_memory.learning import prompts
from vault_memory.learning.enrichment.curation import (
    allowed_ops,
    current_facts,
    learned_lines,
    sentence_of,
)
from vault_memory.learning.note_lines import ops_for
from vault_memory.learning.unread_turns import moment_of
from vault_memory.markdown.items import parse_item, parse_text
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.conversations.turn import time_of_id
from vault_memory.rules.edits.skipped_duplicates import skips_of
from vault_memory.rules.facts.fact import Fact, read_facts
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns
from vault_memory.rules.search.tokens import clean, shortened

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

WEEK_DAYS = 7
PAUSE_DAYS = 6
"""At least, between two reflections"""
LEAST_FACTS = 3
"""Of the last seven days"""
MOST_LINES = 8
LONGEST_LINE = 300
WEEK = "The week"


def reflect(cycle: "LearningCycle") -> None:
    """Reflects on a person's week when at least three facts were learned in it."""
    if not _is_due(cycle):
        return
    new_facts = _new_facts(cycle)
    if len(new_facts) < LEAST_FACTS:
        return
    today = cycle.night
    lines = _ask_model(cycle) or _news(cycle, new_facts)
    note = cycle.places.reflection_of(today)
    items = [f"{line} ({today}, topic:weekly)" for line in lines]
    ops = ops_for(cycle.doc(note), WEEK, items) if items else []
    result = cycle.edit("reflection", note, ops)
    cycle.outcome.reflected = len(result.applied)


def _is_due(cycle: "LearningCycle") -> bool:
    if cycle.kind != "user" or not cycle.places.reflections:
        return False
    # Fault: with turns left to read, the model would reflect on half a week.
    if cycle.outcome.state == "failed" or cycle.outcome.more:
        return False
    has_turns = cycle.gathered.turns or cycle.last.newest
    if not has_turns:
        return False
    if not cycle.last.reflected:
        return True
    previous = date.fromisoformat(cycle.last.reflected)
    return (cycle.night - previous).days >= PAUSE_DAYS


def _new_facts(cycle: "LearningCycle") -> list[Fact]:
    """Returns valid facts that were said within seven days, or that began then.

    The turn of a fact dates it; without a turn, the audit tells when the fact was written.
    """
    note = cycle.places.facts
    page = read_facts(cycle.doc(note), cycle.scope)
    facts = [fact for fact in page if not fact.struck]
    if len(facts) < LEAST_FACTS:
        return []
    stated: set[str] = set()
    for record in cycle.deps.editor.trail.of(note):
        day = moment_of(record.ts).astimezone(cycle.zone).date()
        if _within_week(day, cycle.night):
            stated.update(_stated_fact(op.remark) for op in record.applied)
    stated.discard("")
    return [fact for fact in facts if _is_new(fact, cycle, stated)]


def _is_new(fact: Fact, cycle: "LearningCycle", stated: set[str]) -> bool:
    if _within_week(fact.valid_from, cycle.night):
        return True
    said = time_of_id(fact.ref)
    if said is None:
        return fact.id in stated
    return _within_week(said.astimezone(cycle.zone).date(), cycle.night)


def _stated_fact(remark: str) -> str:
    """Returns the id of the fact that an op stated; empty for other ops."""
    match remark.split():
        case ["fact", id_, ("added" | "refined" | "superseded" | "corrected")]:
            return id_
    return ""


def _within_week(day: date | None, night: date) -> bool:
    # Fault: a fact with a date in the future is not of this week.
    return day is not None and 0 <= (night - day).days < WEEK_DAYS


def _ask_model(cycle: "LearningCycle") -> list[str]:
    """Returns a model's lines about the week; no lines without a model."""
    learned = {
        day: learned_lines(cycle.doc(note))
        for day, note in cycle.places.dated
        if _within_week(day, cycle.night)
    }
    facts = [sentence_of(fact) for fact in current_facts(cycle)]
    try:
        prompt = prompts.reflection_prompt(
            cycle.question("reflection", cycle.name),
            days={day: "\n".join(lines) for day, lines in learned.items()},
            facts=cycle.text(cycle.places.facts),
        )
        answer = cycle.ask("reflection", prompt)
    except VaultMemoryError:
        # Fault: the model is out of reach. The week then has its news.
        return []
    # A review joins several lines, so the week is compared as a whole.
    week = ". ".join([*chain.from_iterable(learned.values()), *facts])
    evidence = OwnTurns({WEEK: OwnTurn(week, cycle.name, cycle.night)})
    lines = []
    # Fault: a model may write a secret into its review. The policy judges it as well.
    for op in allowed_ops(cycle, read_answer(answer, ()).ops):
        # Fault: a model may write line breaks or marks that would make a section of their own.
        line = " ".join(clean(str(op.get("line", ""))).split())
        # Fault: a model invents, and the review is read in later prompts.
        if op.get("op") == "append" and line and evidence.citation(line, ()):
            lines.append(shortened(line, LONGEST_LINE))
    # Fault: a model that repeats itself must not fill the note.
    return lines[:MOST_LINES]


def _news(cycle: "LearningCycle", new_facts: list[Fact]) -> list[str]:
    """Returns what is new, in the sentences that said it; a fact without one is put into words."""
    sentences: dict[str, str] = {}
    for day, note in cycle.places.dated:
        if _within_week(day, cycle.night):
            for item in items_of(cycle.doc(note)):
                fields = parse_item(item.text)
                sentences.setdefault(fields.ref, fields.text)
    # A sentence that says no more than its fact is in the audit of the page alone.
    for record in cycle.deps.editor.trail.of(cycle.places.facts):
        for skip in skips_of(record):
            fields = parse_text(str(skip.op.get("line", "")))
            sentences.setdefault(str(skip.op.get("turn", "")), fields.text)
    lines = [_in_words(fact, sentences.get(fact.ref, "")) for fact in new_facts]
    return [shortened(line, LONGEST_LINE) for line in dict.fromkeys(lines)][:MOST_LINES]


def _in_words(fact: Fact, sentence: str) -> str:
    """Returns the sentence that said a fact, or else the fact itself."""
    # Fault: a person corrected the fact, and the sentence has the old value.
    has_value = folded_line(fact.object) in folded_line(sentence)
    return sentence if has_value else sentence_of(fact)
