"""The JSON contract of facts: what `facts`, `timeline`, `entity`, and each change of a fact give back."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from vault_memory.api.json_contract import of_edit, of_hit
from vault_memory.facts.entity_info import About, FactChange
from vault_memory.rules.facts.fact import Fact


def of_fact(fact: Fact) -> dict[str, Any]:
    """One fact; days are ISO 8601. `inferred` follows from another one, and stands on no page."""
    return {
        "id": fact.id,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "valid_from": fact.valid_from and fact.valid_from.isoformat(),
        "valid_until": fact.valid_until and fact.valid_until.isoformat(),
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


def of_facts(facts: Iterable[Fact]) -> dict[str, Any]:
    """`facts`, `timeline`."""
    return {"facts": [of_fact(fact) for fact in facts]}


def of_change(change: FactChange) -> dict[str, Any]:
    """`add-fact`, `correct`, `invalidate`, `delete-fact`, `confirm`: with what was done to the page."""
    return {"outcome": change.outcome, "id": change.id} | of_edit(change.edit)


def of_about(about: About) -> dict[str, Any]:
    """`entity`."""
    return {
        "name": about.name,
        "type": about.type,
        "aliases": list(about.aliases),
        "summary": about.summary,
        "facts": [of_fact(fact) for fact in about.facts],
        "relationships": [asdict(one) for one in about.relationships],
        "mentions": about.mentions,
        "hits": [of_hit(hit) for hit in about.hits],
    }
