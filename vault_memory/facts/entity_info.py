"""Answers of the fact calls of `VaultMemory`, built from the rows of the index.

A module apart from the calls, so that a program without fact calls does not load it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from vault_memory.edits.edit_errors import UnclearId
from vault_memory.edits.plans import fact_edits
from vault_memory.errors import UsageError
from vault_memory.rules.facts import inference
from vault_memory.rules.facts.entities import Entities, Entity
from vault_memory.rules.facts.fact import (
    Fact,
    begins,
    current,
    ends,
    folded,
    folded_facts,
    identified,
    snake_case,
    valid_on,
)
from vault_memory.rules.facts.fact_page import FactRules, is_writable
from vault_memory.rules.facts.inference import Strength, Together, strengths, with_inverse
from vault_memory.rules.facts.relevance import PromptWords, relevant

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.search.results import Hit

__all__ = [
    "About",
    "Entities",
    "Fact",
    "FactChange",
    "FactList",
    "FactRules",
    "PromptWords",
    "UnclearFact",
    "about",
    "about_these",
    "by_scope",
    "change_of",
    "check",
    "folded",
    "held_on",
    "holding",
    "identified",
    "in_time",
    "relevant",
    "unclear",
    "with_inverse",
]

MOST_CANDIDATES = 10


class UnclearFact(UnclearId):
    """The id matches no fact, or several facts. Nothing was changed."""

    def __init__(self, fact_id: str, candidates: Sequence[Fact], *, is_ambiguous: bool) -> None:
        super().__init__(
            "fact",
            fact_id,
            [fact.id for fact in candidates],
            "`vault-memory facts` lists them with their ids",
        )
        lines = "\n".join(f"  {fact.id}  {in_words(fact)}" for fact in candidates)
        if is_ambiguous:
            self.message = f"{fact_id!r} may be any of these facts:\n{lines}"
        else:
            self.message = f"there is no fact {fact_id!r}"
            if lines:
                self.message += f"; there are\n{lines}"
        self.args = (self.message,)
        self.details["facts"] = [in_words(fact) for fact in candidates]

    @property
    def code(self) -> str:
        return "unclear_id"


class FactList(tuple[Fact, ...]):
    """Facts in answer to a question."""

    unknown_scopes: tuple[str, ...] = ()
    """scopes of the question that have no note: perhaps misspelt names"""
    strengths: tuple[float, ...] = ()
    """the strength of each fact, from 0 to 1, where weak facts were asked for"""

    def weaker_than(self, below: float, today: date) -> "FactList":
        """Returns the facts on a page whose strength is below a limit, the weakest first."""
        stated = [fact for fact in self if fact.text]
        weak = inference.weak_facts(stated, below, today)
        facts = FactList(fact for _, fact in weak)
        facts.strengths = tuple(round(strength, 4) for strength, _ in weak)
        facts.unknown_scopes = self.unknown_scopes
        return facts


@dataclass(frozen=True, slots=True)
class FactChange:
    """The result of a statement or a change of a fact."""

    outcome: str
    """added, duplicate, refined, superseded; corrected, invalidated, deleted, confirmed; proposed, rejected, pending"""
    id: str
    note: str
    edit: "Edit"


@dataclass(frozen=True, slots=True)
class About:
    """Everything that the vault knows of a person or a thing."""

    IF_ANY = ("unknown_scopes",)

    name: str
    type: str
    aliases: tuple[str, ...]
    summary: str
    facts: tuple[Fact, ...]
    """with inverse facts, which are on no page and have no `text`"""
    relationships: tuple[Strength, ...]
    mentions: int
    """number of chunks that name it"""
    hits: "tuple[Hit, ...]"
    unknown_scopes: tuple[str, ...] = ()
    """scopes of the question that have no note: perhaps misspelt names"""


def in_words(fact: Fact) -> str:
    """Formats a fact on one line."""
    return f"{fact.subject} · {fact.line()}"


def holding(facts: Iterable[Fact], day: date, single: Iterable[str]) -> list[Fact]:
    """Returns the facts that are valid on a day, each scope by itself."""
    # Fault: a fact of one scope must not replace that of another one.
    return [fact for group in by_scope(facts) for fact in current(group, day, single)]


def held_on(facts: Iterable[Fact], day: date, single: Iterable[str]) -> list[Fact]:
    """Returns the facts that were valid on a day, by what is written today, each scope by itself."""
    return [fact for group in by_scope(facts) for fact in valid_on(group, day, single)]


def in_time(facts: Iterable[Fact], day: date, single: Iterable[str]) -> list[Fact]:
    """Returns all facts with their validity on a day, the oldest first."""
    history = [fact for group in by_scope(facts) for fact in folded_facts(group, day, single)]
    return sorted(history, key=lambda fact: (begins(fact), ends(fact)))


def about(
    entity: Entity,
    facts: tuple[Fact, ...],
    mentions: int,
    hits: "tuple[Hit, ...]",
    today: date,
    together: Mapping[frozenset[str], Together],
) -> About:
    """Builds the answer about an entity."""
    return About(
        entity.name,
        entity.type,
        entity.aliases,
        entity.summary,
        facts,
        tuple(strengths(facts, today, together)),
        mentions,
        hits,
    )


def change_of(edit: "Edit", note: str, fact_id: str) -> FactChange:
    """Reads the result from the remark of the last op that states a fact."""
    for op in reversed(edit.applied):
        subject, _, result = op.remark.partition(" ")
        if subject == fact_edits.ABOUT:
            id_, _, outcome = result.partition(" ")
            return FactChange(outcome, id_, note, edit)
    outcome = "rejected"
    if edit.proposed:
        outcome = "proposed"
    elif edit.pending:
        outcome = "pending"
    return FactChange(outcome, fact_id, note, edit)


def by_scope(facts: Iterable[Fact]) -> list[list[Fact]]:
    """Groups facts by scope."""
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact.scope, []).append(fact)
    return list(groups.values())


def about_these(facts: Iterable[Fact], keys: set[str]) -> list[Fact]:
    """Returns the facts whose subject or object is one of these folded names."""
    return [
        fact for fact in facts if not keys.isdisjoint((folded(fact.subject), folded(fact.object)))
    ]


def check(fact: Fact) -> None:
    """Raises UsageError for a fact that cannot be written on a page of facts."""
    words = (fact.subject, fact.predicate, fact.object)
    if not all(map(str.strip, words)):
        raise UsageError(
            "a fact has a subject, a predicate and an object", hint="such as alice works_at Acme"
        )
    # Fault: an interval that ends before it begins would hold on no day.
    if begins(fact) > ends(fact):
        raise UsageError(
            f"a fact cannot end on {ends(fact)}, before it begins", hint="give the days in order"
        )
    # Fault: a confidence above 1 would outweigh each other fact.
    if not 0 <= fact.confidence <= 1:
        raise UsageError(f"a confidence is from 0 to 1, not {fact.confidence:g}")
    line = replace(fact, predicate=snake_case(fact.predicate), object=" ".join(fact.object.split()))
    # Fault: a line with marks of its own would be read back as another fact.
    if not is_writable(identified(line)):
        raise UsageError(
            f"{line.line()!r} cannot be told apart from other text on a page of facts",
            hint="a predicate is one word such as works_at; an object is a name or a short phrase",
        )


def unclear(fact_id: str, all_facts: Sequence[Fact]) -> UnclearFact:
    """Returns the error for an unknown id. It lists facts that its words may mean, else any."""
    text = PromptWords(fact_id).text
    near = [fact for fact in all_facts if PromptWords(f"{fact.subject} {fact.object}").names(text)]
    candidates = (near or all_facts)[:MOST_CANDIDATES]
    return UnclearFact(fact_id, candidates, is_ambiguous=False)
