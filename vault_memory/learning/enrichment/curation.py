"""The step that lets a model edit a person's profile, and what notes say for its texts."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.errors import VaultMemoryError
from vault_memory.learning import prompts
from vault_memory.learning.outcomes import EditCause
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item, parse_text
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import items_of
from vault_memory.models.llm.own_words import own_words, spoken
from vault_memory.rules.facts.fact import Fact, has_ended, read_facts
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns
from vault_memory.rules.learning.write_policy import reason_to_keep_out
from vault_memory.rules.search.tokens import stop_words, words

if TYPE_CHECKING:
    from vault_memory.contract.answers import DroppedJson
    from vault_memory.learning.cycle import LearningCycle


RECENT_DAYS = 3
"""Dated notes that curation reads"""
MOST_PROPOSALS = 10
"""In one night"""
LONGEST_HEADING = 2
"""Content words of a new heading that names a subject and states nothing"""
NO_NOTE_SAYS_THIS = "no note says this"


def curate(cycle: "LearningCycle") -> None:
    """Lets the brain edit USER.md, as policy allows, after all turns of the night are read."""
    if not _may_curate(cycle):
        return
    places = cycle.places
    since = cycle.night - timedelta(days=RECENT_DAYS)
    try:
        prompt = prompts.curation_prompt(
            cycle.question("curation", places.profile.rpartition("/")[2]),
            text=cycle.text(places.profile),
            days=cycle.days(since, cycle.night),
            facts=cycle.text(places.facts),
        )
        answer = cycle.ask("curation", prompt)
    except VaultMemoryError as error:
        # Fault: the model is out of reach. What the cycle wrote before must not be lost with the
        # curation.
        cycle.outcome.reason = cycle.outcome.reason or error.message
        return
    # Fault: a model may write a secret into its ops. The policy judges these as well.
    ops = allowed_ops(cycle, read_answer(answer, ()).ops)
    evidence = NoteEvidence(cycle, since)
    grounded = [op for op in ops if all(map(evidence.says, _new_lines(op)))]
    result = cycle.edit("curation", places.profile, grounded)
    cycle.outcome.curated = len(result.applied)
    _propose(cycle, [op for op in ops if op not in grounded])


def _propose(cycle: "LearningCycle", ops: list[Mapping[str, Any]]) -> None:
    """Proposes edits whose text no note says."""
    # A model that invents much must not fill INBOX.md; the audit names the others.
    surplus = [
        {"op": "memory", "line": " ".join(_new_lines(op)), "reason": "too many proposals"}
        for op in ops[MOST_PROPOSALS:]
    ]
    why = f"night of {cycle.checkpoint.night}: {NO_NOTE_SAYS_THIS}"
    cycle.edit(
        "curation doubts",
        cycle.places.profile,
        [*ops[:MOST_PROPOSALS], *surplus],
        cause=EditCause(why=why, origin="document"),
    )


def _new_lines(op: Mapping[str, Any]) -> list[str]:
    """Returns the lines that an op would write, and the heading of a new section."""
    lines = [op["line"]] if "line" in op else []
    if isinstance(op.get("lines"), list):
        lines += op["lines"]
    heading = str(op.get("heading", ""))
    heading_words = words(heading)
    content_words = set(heading_words) - stop_words(heading_words)
    # Fault: a model writes an invention as the heading of a section.
    if op.get("op") == "add_heading" and len(content_words) > LONGEST_HEADING:
        lines.append(heading)
    return list(map(str, lines))


def _may_curate(cycle: "LearningCycle") -> bool:
    # Fault: curation of a channel would let its members change a person's profile.
    if not cycle.request.curate or cycle.kind != "user":
        return False
    # Fault: with turns left to read, or after a failure, the model would curate from half a day.
    if cycle.outcome.more or cycle.outcome.state == "failed":
        return False
    return bool(cycle.gathered.turns or cycle.last.heard)


def allowed_ops(
    cycle: "LearningCycle", ops: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Returns a model's ops without those whose text must not be stored; these are named."""
    policy = cycle.deps.policy
    if policy is None:
        return list(ops)
    cues = policy.cues()
    allowed = []
    for op in ops:
        lines = [str(op.get("line", "")), *map(str, op.get("lines") or ())]
        reason = reason_to_keep_out(str(op.get("heading", "")), lines, cues.reasons)
        if not reason:
            allowed.append(op)
            continue
        drop: DroppedJson = {"ref": "", "reason": reason}
        cycle.outcome.dropped.append(drop)
    return allowed


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
