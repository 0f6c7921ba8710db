"""Facts as the page shows them: as sentences, with days, certainty and source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vault_memory.rules.facts.fact import Fact
from vault_memory.rules.facts.relevance import unclear_values

LABEL_LENGTH = 120


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact."""

    id: str
    subject: str
    predicate: str
    """as it is written, such as `works_at`"""
    object: str
    sentence: str
    line: str
    """the beginning of its line on the page: `works_at: Acme`"""
    since: str
    """the first day, ISO 8601; empty when it is not known"""
    until: str
    ref: str
    """the id of the turn that it comes from; empty for what a person wrote"""
    scope: str
    remarks: tuple[str, ...]
    has_ended: bool
    is_inferred: bool
    """it follows from another fact, and is on no page"""
    is_confirmed: bool

    @property
    def label(self) -> str:
        """The sentence, as far as the name of a button needs it."""
        # Fault: a name of 4 kB would be in the page five times for each fact.
        if len(self.sentence) <= LABEL_LENGTH:
            return self.sentence
        return f"{self.sentence[:LABEL_LENGTH]}…"


def fact_rows(facts: Iterable[Fact]) -> list[FactRow]:
    """Returns facts for a template."""
    facts = list(facts)
    choices = unclear_values(facts)
    return [_row(fact, choices.get(fact.id, ())) for fact in facts]


def _row(fact: Fact, choices: tuple[str, ...]) -> FactRow:
    return FactRow(
        id=fact.id,
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        sentence=sentence_of(fact),
        line=f"{fact.predicate}: {fact.object}",
        since=fact.valid_from.isoformat() if fact.valid_from else "",
        until=fact.valid_until.isoformat() if fact.valid_until else "",
        ref=fact.ref,
        scope=fact.scope,
        remarks=tuple(_remarks(fact, choices)),
        has_ended=fact.struck,
        is_inferred=not fact.text,
        is_confirmed=fact.confirmed,
    )


def sentence_of(fact: Fact) -> str:
    """Returns a fact as a sentence: `mira works at Acme`."""
    predicate = fact.predicate.replace("_", " ")
    return f"{fact.subject} {predicate} {fact.object}"


def _remarks(fact: Fact, choices: tuple[str, ...]) -> Iterator[str]:
    if choices:
        yield f"unclear: {' or '.join(choices)}"
    if fact.confirmed:
        yield "confirmed by a person"
    # What a person wrote is certain, and needs no number.
    if fact.confidence != 1:
        yield f"{fact.confidence:.0%} certain"
    if fact.temporary:
        yield "for a while"
    if fact.origin != "owner":
        yield f"from {fact.origin}"
    if not fact.text:
        yield "follows from another fact"
