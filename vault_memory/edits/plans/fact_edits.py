"""Plans changes of a page of facts: each wish is worked out on the present text, then bound by policy.

A wish is JSON, because it waits in the journal like any command: `{"do": "add", "scope", "today", "single",
"conflicts", …}` with the fields of a fact, or `{"do": "invalidate" | "delete" | "confirm" | "correct", "id", …}`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.plan import (
    EditPlan,
    KeptOut,
    PlanInputs,
    any_applied,
    apply_by_policy,
)
from vault_memory.markdown.document import SectionedDoc, parse, render
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import (
    BOT_SOURCES,
    Proposal,
    RecordedOp,
    known_proposals,
    propose,
)
from vault_memory.rules.edits.ops import Applied, Op, Outcome, Rejected, as_json
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.facts.fact import (
    Fact,
    folded,
    identified,
    read_fact,
    restated,
    section_facts,
    stated,
)
from vault_memory.rules.facts.fact_page import (
    ANOTHER_VALUE,
    Change,
    FactRules,
    add_fact,
    confirm_fact,
    correct_fact,
    delete_fact,
    invalidate_fact,
)

ABOUT = "fact"
"""First word of the remark of the last op of a wish: `fact ID outcome`"""

Wish = Mapping[str, Any]
Statement = tuple[str, str, str]
"""Subject, predicate and object, folded"""


def wish_of(
    do: str, scope: str, rules: FactRules, *, id: str = "", fact: Fact | None = None
) -> dict[str, Any]:
    """Returns a wish in the form that a command stores."""
    wish: dict[str, Any] = {
        "do": do,
        "scope": scope,
        "id": id,
        "today": rules.today.isoformat(),
        "single": sorted(rules.single),
        "conflicts": rules.mode_of(fact.predicate if fact else ""),
    }
    if fact is not None:
        wish["fact"] = stated(fact)
    return wish


def fact_of(wish: Wish) -> Fact:
    """Returns the fact of a wish that adds or corrects one."""
    return identified(restated(wish["fact"], scope=wish["scope"]))


def change_of(doc: SectionedDoc, wish: Wish) -> Change:
    """Returns the ops that fulfil a wish on this text."""
    today = date.fromisoformat(wish["today"])
    rules = FactRules(today, frozenset(wish["single"]), wish["conflicts"])
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
    command: EditCommand, wishes: tuple[Wish, ...], before: bytes | None, inputs: PlanInputs
) -> EditPlan:
    """Returns the plan of all wishes. What the bot may not do by itself is proposed."""
    is_bot = command.source in BOT_SOURCES
    start = parse(before or b"")
    doc = start
    deleted = _statements_deleted_by_people(command, wishes, start, inputs)
    is_deleted = inputs.is_deleted(command, before)
    kept_out = inputs.kept_out_of(command)
    changes: list[Change] = []
    turns: list[str] = []
    refused: list[Rejected] = []
    outcomes: list[Outcome] = []
    for index, wish in enumerate(wishes):
        change = change_of(doc, wish)
        texts = _deleted_texts(wish, deleted)
        ref = wish.get("fact", {}).get("ref", "")
        # Fault: a person who says later what they deleted would not be heard.
        if all(inputs.said_later(command, command.note, text, ref) for text in texts):
            texts = ()
        refusals = _refusals_of(wish, change, texts, is_deleted, kept_out)
        if refusals:
            refused += refusals
            continue
        changes.append(change)
        turns.append(ref)
        # The next wish is worked out on the text that this one makes.
        is_last = index == len(wishes) - 1
        if not is_bot or not is_last:
            outcomes.append(apply_ops(doc, map(as_json, change.ops)))
            doc = outcomes[-1].doc
    if is_bot:
        ops = tuple(as_json(op) for change in changes for op in change.ops)
        outcome, proposed = apply_by_policy(command, before, ops, inputs)
    else:
        all_applied = tuple(op for each in outcomes for op in each.applied)
        all_rejected = tuple(op for each in outcomes for op in each.rejected)
        outcome, proposed = Outcome(doc, all_applied, all_rejected), ()
    applied = _add_turns(_add_remarks(outcome.applied, changes), changes, turns)
    questions = tuple(
        propose(command.note, op, ANOTHER_VALUE.format(change.id))
        for change in changes
        for op in change.asks
    )
    after = render(outcome.doc) if any_applied(applied) else before
    return EditPlan(
        before,
        after,
        applied,
        (*outcome.rejected, *refused),
        _without_rejected((*proposed, *questions), command.note, inputs),
    )


def _refusals_of(
    wish: Wish,
    change: Change,
    deleted: Iterable[str],
    is_deleted: Callable[[str, str], bool],
    kept_out: KeptOut,
) -> list[Rejected]:
    """Returns the op of a wish that is refused as a whole, with the reason.

    `deleted` are texts of the page that say the same, and that a person deleted.
    """
    if "fact" not in wish:
        return []
    fact = fact_of(wish)
    # Fault (A9): the bot would state again each night what a person deleted.
    is_new = change.outcome != "duplicate"
    if is_new and (any(deleted) or is_deleted(fact.subject, fact.line())):
        return [Rejected(as_json(op), "deleted_by_person") for op in change.ops[-1:]]
    reason = kept_out(fact.subject, [f"{fact.predicate}: {fact.object}"])
    # Fault: of a fact that replaces another one, only the end of the other would be applied.
    return [Rejected({"op": wish["do"]}, reason)] if reason else []


def _add_remarks(applied: tuple[Applied, ...], changes: Sequence[Change]) -> tuple[Applied, ...]:
    """Adds the outcome of each wish to its last op."""
    change_of_op: dict[Op, Change] = {change.ops[-1]: change for change in changes if change.ops}
    with_remarks = []
    for op in applied:
        change = change_of_op.get(op.op)
        remark = f"{ABOUT} {change.id} {change.outcome}" if change else op.remark
        with_remarks.append(replace(op, remark=remark))
    return tuple(with_remarks)


def _add_turns(
    applied: tuple[Applied, ...], changes: Sequence[Change], turns: Sequence[str]
) -> tuple[Applied | RecordedOp, ...]:
    """Adds the turn to each op of a statement that the page has already: it supports the fact."""
    repeats: dict[Op, list[tuple[str, str]]] = defaultdict(list)
    for change, turn in zip(changes, turns, strict=True):
        if change.outcome == "duplicate" and turn:
            repeats[change.ops[-1]].append((change.id, turn))
    recorded: list[Applied | RecordedOp] = []
    for op in applied:
        if not repeats.get(op.op):
            recorded.append(op)
            continue
        twin, turn = repeats[op.op].pop(0)
        fields = {**as_json(op.op), "twin": twin, "turn": turn}
        recorded.append(RecordedOp(fields, op.outcome, remark=op.remark))
    return tuple(recorded)


def _statements_deleted_by_people(
    command: EditCommand, wishes: tuple[Wish, ...], doc: SectionedDoc, inputs: PlanInputs
) -> dict[Statement, set[str]]:
    """Returns what the bot once stated and a person deleted, with the texts of its items."""
    subjects = {folded(wish["fact"]["subject"]) for wish in wishes if wish["do"] == "add"}
    if command.source not in BOT_SOURCES or not subjects:
        return {}
    owners = replay(inputs.records(command.note))
    texts: dict[Statement, set[str]] = defaultdict(set)
    for heading, text in owners.written | owners.buried:
        fact = read_fact(text, heading) if folded(heading) in subjects else None
        if fact is not None:
            texts[_statement(fact)].add(text)
    present = {
        _statement(fact)
        for section in doc.sections
        if folded(section.name) in subjects
        for fact in section_facts(section)
    }
    return {statement: texts[statement] for statement in texts.keys() - present}


def _deleted_texts(wish: Wish, deleted: Mapping[Statement, set[str]]) -> Iterable[str]:
    """Returns the texts of the items by which the page once stated an added fact, and that people deleted."""
    if wish["do"] != "add" or not deleted:
        return ()
    return deleted.get(_statement(fact_of(wish)), ())


def _statement(fact: Fact) -> Statement:
    return folded(fact.subject), folded(fact.predicate), folded(fact.object)


def _without_rejected(
    proposals: tuple[Proposal, ...], note: str, inputs: PlanInputs
) -> tuple[Proposal, ...]:
    """Leaves out what a person rejected before."""
    if not proposals:
        return ()
    previous = known_proposals(inputs.records(note), note)
    return tuple(
        proposal
        for proposal in proposals
        if proposal.id not in previous or previous[proposal.id].state != "rejected"
    )
