"""What the notes of a person say, as a model's texts about them are compared with it."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item, parse_text
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import items_of
from vault_memory.models.llm.own_words import own_words, spoken
from vault_memory.rules.facts.fact import Fact, has_ended, read_facts
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns
from vault_memory.rules.search.tokens import words

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

TRIVIAL = frozenset({"ephemeral"})
"""Types of lines that matter for that day only"""


class NoteEvidence:
    """The lines of notes and the facts that a model was shown."""

    def __init__(self, cycle: "LearningCycle", since: date) -> None:
        """Reads USER.md, FACTS.md and the dated notes since a day."""
        self._who = cycle.name
        self._night = cycle.night
        self._turns: dict[str, OwnTurn] = {}
        self._add(_lines_of(cycle.doc(cycle.places.profile)), cycle.night)
        for day, note in cycle.places.dated:
            if since <= day <= cycle.night:
                self._add(_lines_of(cycle.doc(note)), day)
        self._facts = current_facts(cycle)
        self._ended = [fact for fact in facts_of(cycle) if fact not in self._facts]

    def says(self, line: str) -> bool:
        """Returns whether one line of the notes, or one fact, says this."""
        fields = parse_text(line)
        # Fault: a model writes an invention as the quotation behind a line.
        return all(map(self._says_statement, filter(None, (fields.text, fields.evidence))))

    def _says_statement(self, statement: str) -> bool:
        if self._has_fact(self._facts, statement):
            return True
        # Fault: notes of earlier days say where the person lived then.
        if self._has_fact(self._ended, statement):
            return False
        return bool(OwnTurns(self._turns).citation(statement, ()))

    def _has_fact(self, facts: Iterable[Fact], statement: str) -> bool:
        turns = {
            fact.id: OwnTurn(sentence_of(fact), fact.subject, self._night)
            for fact in facts
            if self._is_about(fact, statement)
        }
        return bool(OwnTurns(turns).citation(statement, ()))

    def _add(self, lines: Iterable[str], day: date) -> None:
        for line in lines:
            self._turns[str(len(self._turns))] = OwnTurn(line, self._who, day)

    def _is_about(self, fact: Fact, statement: str) -> bool:
        # Fault: "lives in Bergen" of a sister would be written of the person.
        if folded_line(fact.subject) == folded_line(self._who):
            return True
        return not set(words(fact.subject)).isdisjoint(words(statement))


def facts_of(cycle: "LearningCycle") -> list[Fact]:
    """Returns all facts of the page."""
    return read_facts(cycle.doc(cycle.places.facts), cycle.scope)


def current_facts(cycle: "LearningCycle") -> list[Fact]:
    """Returns the facts of the page that hold today."""
    return [fact for fact in facts_of(cycle) if not has_ended(fact, cycle.night)]


def learned_lines(doc: SectionedDoc) -> list[str]:
    """Returns what was learned into a dated note, without trivia."""
    fields = [parse_item(item.text) for item in items_of(doc)]
    return [field.text for field in fields if field.ref and field.type not in TRIVIAL]


def sentence_of(fact: Fact) -> str:
    """Returns a fact in words."""
    return f"{fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}"


def _lines_of(doc: SectionedDoc) -> Iterator[str]:
    """Yields the lines of a note with their headings, without what the note quotes."""
    for section in doc.sections:
        # Fault: a mail that the person pasted says nothing of the person.
        own = own_words(section.body.decode("utf-8", "replace")).text
        for line in own.splitlines():
            fields = parse_item(line.strip())
            # What is struck through no longer holds.
            if fields.text and not fields.text.startswith("~~"):
                yield f"{section.name} {spoken(fields.text)} {fields.evidence}"
