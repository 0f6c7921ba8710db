"""What a run does to a page of facts: each wish is worked out on the text that stands there, then bound by policy.

A wish is JSON, for it waits in the journal like any run: `{"do": "add", "scope", "today", "single", "conflicts", …}`
with the parts of a fact, or `{"do": "invalidate" | "delete" | "confirm" | "correct", "id", …}`.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.plan import Plan, PlanInputs, apply_by_policy
from vault_memory.markdown.document import SectionedDoc, parse, render
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import (
    BOT_SOURCES,
    Proposal,
    proposals_of,
    propose,
)
from vault_memory.rules.edits.ops import Applied, Op, Outcome, Rejected, as_json
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.facts.fact import (
    Fact,
    folded,
    identified,
    read_fact,
    section_facts,
)
from vault_memory.rules.facts.fact_page import (
    Change,
    FactRules,
    add_fact,
    confirm_fact,
    correct_fact,
    delete_fact,
    invalidate_fact,
)

ABOUT = "fact"
"""With this word begins the remark of the op that a wish ended in: `fact ID outcome`"""


def wish_of(
    do: str, scope: str, rules: FactRules, *, id: str = "", fact: Fact | None = None
) -> dict[str, Any]:
    """A wish as it stands in a run."""
    said: dict[str, Any] = {
        "do": do,
        "scope": scope,
        "id": id,
        "today": rules.today.isoformat(),
    }
    said |= {"single": sorted(rules.single), "conflicts": rules.conflicts}
    if fact is not None:
        said["fact"] = {
            "subject": fact.subject,
            "predicate": fact.predicate,
            "object": fact.object,
            "valid_from": fact.valid_from and fact.valid_from.isoformat(),
            "valid_until": fact.valid_until and fact.valid_until.isoformat(),
            "temporary": fact.temporary,
            "confidence": fact.confidence,
            "ref": fact.ref,
            "origin": fact.origin,
            "struck": fact.struck,
            "supersedes": fact.supersedes,
            "confirmed": fact.confirmed,
            "topic": fact.topic,
        }
    return said


def fact_of(wish: Mapping[str, Any]) -> Fact:
    """The fact that a wish is about."""
    said = dict(wish["fact"])
    for edge in ("valid_from", "valid_until"):
        said[edge] = date.fromisoformat(said[edge]) if said[edge] else None
    return identified(Fact("", scope=wish["scope"], **said))


def change_of(doc: SectionedDoc, wish: Mapping[str, Any]) -> Change:
    """What becomes of this text when the wish is done."""
    rules = FactRules(
        date.fromisoformat(wish["today"]), frozenset(wish["single"]), wish["conflicts"]
    )
    match wish["do"]:
        case "add":
            return add_fact(doc, fact_of(wish), rules)
        case "invalidate":
            return invalidate_fact(doc, wish["id"], wish["scope"], rules.today)
        case "delete":
            return delete_fact(doc, wish["id"], wish["scope"])
        case "confirm":
            return confirm_fact(doc, wish["id"], wish["scope"])
    return correct_fact(doc, wish["id"], fact_of(wish), rules)


def plan_facts(
    run: EditCommand,
    wishes: tuple[Mapping[str, Any], ...],
    before: bytes | None,
    known: PlanInputs,
) -> Plan:
    """All wishes of a run on this text. What the bot may not do by itself is proposed."""
    start = parse(before or b"")
    doc = start
    changes: list[Change] = []
    refused: list[Rejected] = []
    gone = _deleted(run, wishes, start, known)
    bound = run.source in BOT_SOURCES
    done: list[Outcome] = []
    for wish in wishes:
        change = change_of(doc, wish)
        if (
            wish["do"] == "add"
            and change.outcome != "duplicate"
            and _statement(fact_of(wish)) in gone
        ):
            refused += [
                Rejected(as_json(op), "deleted_by_person") for op in change.ops[-1:]
            ]
            continue
        changes.append(change)
        if not bound or wish is not wishes[-1]:
            done.append(apply_ops(doc, map(as_json, change.ops)))
            doc = done[-1].doc
    if bound:
        said = tuple(as_json(op) for change in changes for op in change.ops)
        outcome, proposed = apply_by_policy(run, before, said, known)
    else:  # nothing stands between a person and what was just worked out
        outcome, proposed = _joined(doc, done), ()
    applied = _remarked(outcome.applied, changes)
    asked = tuple(_asked(run, op, change) for change in changes for op in change.asks)
    did = any(done.outcome == "applied" for done in applied)
    after = render(outcome.doc) if did else before
    return Plan(
        before,
        after,
        applied,
        (*outcome.rejected, *refused),
        _open((*proposed, *asked), run, known),
    )


def _joined(doc: SectionedDoc, done: list[Outcome]) -> Outcome:
    """What several changes did, one after the other, which ended in this text."""
    return Outcome(
        doc,
        tuple(one for outcome in done for one in outcome.applied),
        tuple(one for outcome in done for one in outcome.rejected),
    )


def _remarked(
    applied: tuple[Applied, ...], changes: list[Change]
) -> tuple[Applied, ...]:
    """What was applied, with what became of each wish beside the op that it ended in."""
    ends: dict[Op, Change] = {
        change.ops[-1]: change for change in changes if change.ops
    }
    told = []
    for done in applied:
        change = ends.get(done.op)
        remark = f"{ABOUT} {change.id} {change.outcome}" if change else done.remark
        told.append(replace(done, remark=remark))
    return tuple(told)


def _deleted(
    run: EditCommand,
    wishes: tuple[Mapping[str, Any], ...],
    doc: SectionedDoc,
    known: PlanInputs,
) -> frozenset[tuple[str, str, str]]:
    """What the bot once stated and a person took off the page: it stays away, whatever its day."""
    if run.source not in BOT_SOURCES or all(wish["do"] != "add" for wish in wishes):
        return frozenset()
    subjects = {
        folded(wish["fact"]["subject"]) for wish in wishes if wish["do"] == "add"
    }
    owned = replay(known.records(run.note))
    once = (
        read_fact(text, name)
        for name, text in owned.written | owned.buried
        if folded(name) in subjects
    )
    sections = (section for section in doc.sections if folded(section.name) in subjects)
    there = {
        _statement(fact) for section in sections for fact in section_facts(section)
    }
    return frozenset(_statement(fact) for fact in once if fact) - there


def _statement(fact: Fact) -> tuple[str, str, str]:
    return folded(fact.subject), folded(fact.predicate), folded(fact.object)


def _asked(run: EditCommand, op: Op, change: Change) -> Proposal:
    return propose(run.note, op, f"another value was stated (fact {change.id})")


def _open(
    proposals: tuple[Proposal, ...], run: EditCommand, known: PlanInputs
) -> tuple[Proposal, ...]:
    """Without what a person turned down before."""
    if not proposals:
        return ()
    before = proposals_of(known.records(run.note))
    return tuple(
        one
        for one in proposals
        if one.id not in before or before[one.id].state != "rejected"
    )
