"""Keeps attributes of people in FACTS.md alone: a memory that only repeats a fact is skipped."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vault_memory.edits.plans import fact_edits
from vault_memory.learning.duplicates import record_skips
from vault_memory.learning.note_lines import line_of
from vault_memory.learning.unread_turns import day_of
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import day as parse_day
from vault_memory.models.llm.phrase_tables import predicate_words
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate
from vault_memory.rules.facts.fact import Fact, has_ended
from vault_memory.rules.facts.fact_page import equal_facts
from vault_memory.rules.learning.attribute_values import fact_beside
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle


def without_attributes(cycle: "LearningCycle") -> Extraction:
    """Returns what was found, without the memories that only repeat a fact of the page.

    Each of them is recorded in the audit of the page, and supports its fact.
    """
    page = _page_with_facts(cycle)
    memories: list[Memory] = []
    skips: list[SkippedDuplicate] = []
    for memory in cycle.extraction.memories:
        # Fault: a person decides about the fact, and the memory would say it meanwhile.
        if _fact_beside(memory, cycle.judged.proposed_facts) is not None:
            continue
        skip = _said_by_fact(cycle, memory, page)
        if skip is None:
            memories.append(memory)
        else:
            skips.append(skip)
    if skips:
        record_skips(cycle, cycle.places.facts, skips)
    return replace(cycle.extraction, memories=tuple(memories))


def fact_of(candidate: FoundFact, turn: Turn, scope: str) -> Fact:
    """Returns a candidate in the form of the fact page."""
    return Fact(
        "",
        candidate.subject,
        candidate.predicate,
        candidate.object,
        parse_day(candidate.valid_from),
        parse_day(candidate.valid_until),
        ref=turn.id,
        scope=scope,
    )


def first_turn(ids: Iterable[str], turns: Mapping[str, Turn]) -> Turn | None:
    """Returns the first of these turns that can be learned from."""
    return next((turns[turn_id] for turn_id in ids if turn_id in turns), None)


def fact_wishes(cycle: "LearningCycle") -> tuple[dict[str, Any], ...]:
    """Returns the wishes to state the facts that were found, one for each turn that says it."""
    return wishes_of(cycle, cycle.extraction.facts)


def wishes_of(cycle: "LearningCycle", facts: Iterable[FoundFact]) -> tuple[dict[str, Any], ...]:
    """Returns the wishes to state these facts, one for each turn that says one."""
    wishes = []
    turns = cycle.gathered.evidence
    for candidate in facts:
        for turn_id in candidate.evidence:
            if turn_id not in turns:
                continue
            fact = fact_of(candidate, turns[turn_id], cycle.scope)
            rules = cycle.deps.fact_rules(day_of(turns[turn_id], cycle.zone))
            wish = fact_edits.wish_of("add", cycle.scope, rules, fact=fact)
            wishes.append(wish)
    return tuple(wishes)


def _page_with_facts(cycle: "LearningCycle") -> SectionedDoc:
    """Returns the page of facts after the facts of the cycle were stated."""
    page = cycle.doc(cycle.places.facts)
    if not cycle.request.dry_run:
        return page
    for wish in fact_wishes(cycle):
        page = apply_ops(page, fact_edits.change_of(page, wish).ops).doc
    return page


def _fact_beside(memory: Memory, facts: Iterable[FoundFact]) -> FoundFact | None:
    return fact_beside(memory, facts, predicate_words)


def _said_by_fact(
    cycle: "LearningCycle", memory: Memory, page: SectionedDoc
) -> SkippedDuplicate | None:
    """Returns the record of a memory whose fact is on the page, or None."""
    candidate = _fact_beside(memory, cycle.extraction.facts)
    turn = first_turn(memory.evidence, cycle.gathered.evidence)
    if candidate is None or turn is None:
        return None
    day = day_of(turn, cycle.zone)
    statement = fact_of(candidate, turn, cycle.scope)
    for fact in equal_facts(page, statement):
        # The page keeps a statement that lost against another one struck through.
        if not has_ended(fact, day):
            line = line_of(memory, turn, day)
            return SkippedDuplicate(fact.subject, line, fact.id, turn.id)
    return None
