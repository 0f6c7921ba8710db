"""Turns the results of fact calls into the answers of the JSON contract."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from vault_memory.api.json_contract import of_hit
from vault_memory.contract import as_json
from vault_memory.rules.facts import relevance
from vault_memory.rules.facts.fact import ends

if TYPE_CHECKING:
    from vault_memory.contract import about_answers, answers, edit_answers
    from vault_memory.facts.entity_info import About, FactChange
    from vault_memory.facts.known import Known
    from vault_memory.rules.facts.fact import Fact

KEYS = (
    "id subject predicate object valid_from valid_until temporary confidence ref origin scope ended"
    " confirmed supersedes inferred"
).split()
"""The keys of a fact, in their order"""


def of_fact(fact: "Fact", choice: Sequence[str] = ()) -> "answers.FactJson":
    """Return one fact. An inferred fact is on no page, so it has no text.

    `choice`: the values between which a person has to decide.
    """
    values = as_json(fact) | {"ended": fact.struck, "inferred": not fact.text}
    entry: answers.FactJson = {name: values[name] for name in KEYS}  # type: ignore[assignment]
    if choice:
        entry["unclear"] = list(choice)
    return entry


def _with_choices(facts: "Iterable[Fact]") -> "list[answers.FactJson]":
    facts = list(facts)
    choices = relevance.unclear_values(facts)
    return [of_fact(fact, choices.get(fact.id, ())) for fact in facts]


def past(facts: "Iterable[Fact]") -> "list[Fact]":
    """Return the facts that have ended, or have a last day."""
    return [fact for fact in facts if fact.struck or ends(fact) < date.max]


def of_facts(facts: "Iterable[Fact]", unknown_scopes: Sequence[str] = ()) -> "answers.FactsJson":
    """Return the answer of `facts` and `timeline`."""
    payload: answers.FactsJson = {"facts": _with_choices(facts)}
    strengths = getattr(facts, "strengths", ())
    for entry, strength in zip(payload["facts"], strengths, strict=False):
        entry["strength"] = strength
    if unknown_scopes:
        payload["unknown_scopes"] = list(unknown_scopes)
    return payload


def of_change(change: "FactChange") -> "answers.FactChangeJson":
    """Return the answer of the commands that change a fact, with the edit of its page."""
    edit: edit_answers.EditJson = as_json(change.edit)
    return {"outcome": change.outcome, "id": change.id, **edit}


def of_about(about: "About") -> "answers.EntityJson":
    """Return the answer of `entity`."""
    answer: answers.EntityJson = as_json(replace(about, facts=(), hits=()))
    answer["facts"] = _with_choices(about.facts)
    answer["hits"] = list(map(of_hit, about.hits))
    return answer


def of_known(known: "Known") -> "about_answers.AboutJson":
    """Return the answer of `about`."""
    entity = known.entity
    payload: about_answers.AboutJson = {
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "summary": entity.summary,
        "notes": as_json(known.notes),
        "facts": _with_choices(entity.facts),
        "recent": as_json(known.recent),
    }
    if entity.unknown_scopes:
        payload["unknown_scopes"] = list(entity.unknown_scopes)
    return payload
