"""Turns the results of fact calls into the answers of the JSON contract."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from vault_memory.api.json_contract import of_edit, of_hit
from vault_memory.rules.facts import unclear

if TYPE_CHECKING:
    from vault_memory.contract import about_answers, answers
    from vault_memory.facts.entity_info import About, FactChange
    from vault_memory.facts.known import Known, KnownNote
    from vault_memory.rules.facts.fact import Fact


def of_fact(fact: "Fact", choice: Sequence[str] = ()) -> "answers.FactJson":
    """Return one fact. An inferred fact is on no page, so it has no text.

    `choice`: the values between which a person has to decide.
    """
    entry: answers.FactJson = {
        "id": fact.id,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "valid_from": fact.valid_from.isoformat() if fact.valid_from else None,
        "valid_until": fact.valid_until.isoformat() if fact.valid_until else None,
        "temporary": fact.temporary,
        "confidence": fact.confidence,
        "ref": fact.ref,
        "origin": fact.origin,
        "scope": fact.scope,
        "ended": fact.struck,
        "confirmed": fact.confirmed,
        "supersedes": fact.supersedes,
        "inferred": not fact.text,
    }
    if choice:
        entry["unclear"] = list(choice)
    return entry


def _with_choices(facts: "Iterable[Fact]") -> "list[answers.FactJson]":
    facts = list(facts)
    choices = unclear.unclear_values(facts)
    return [of_fact(fact, choices.get(fact.id, ())) for fact in facts]


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
    return {"outcome": change.outcome, "id": change.id, **of_edit(change.edit)}


def of_about(about: "About") -> "answers.EntityJson":
    """Return the answer of `entity`."""
    payload: answers.EntityJson = {
        "name": about.name,
        "type": about.type,
        "aliases": list(about.aliases),
        "summary": about.summary,
        "facts": _with_choices(about.facts),
        "relationships": [
            {
                "subject": relationship.subject,
                "predicate": relationship.predicate,
                "object": relationship.object,
                "strength": relationship.strength,
            }
            for relationship in about.relationships
        ],
        "mentions": about.mentions,
        "hits": [of_hit(hit) for hit in about.hits],
    }
    if about.unknown_scopes:
        payload["unknown_scopes"] = list(about.unknown_scopes)
    return payload


def of_known(known: "Known") -> "about_answers.AboutJson":
    """Return the answer of `about`."""
    entity = known.entity
    payload: about_answers.AboutJson = {
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "summary": entity.summary,
        "notes": list(map(_of_known_note, known.notes)),
        "facts": _with_choices(entity.facts),
        "recent": list(map(_of_known_note, known.recent)),
    }
    if entity.unknown_scopes:
        payload["unknown_scopes"] = list(entity.unknown_scopes)
    return payload


def _of_known_note(note: "KnownNote") -> "about_answers.AboutNoteJson":
    return {"note": note.note, "kind": note.kind, "text": note.text}
