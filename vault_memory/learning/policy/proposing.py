"""The steps that ask a person about rules and facts that others may have written."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.edits.plans import fact_edits
from vault_memory.learning.attributes import wishes_of
from vault_memory.learning.learned_rules import ACTIVE, new_rules
from vault_memory.learning.note_lines import ops_for
from vault_memory.learning.policy.edit_cause import EditCause
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.ops import AddHeading, Append, as_json

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

MOST_PROPOSED = 10
"""Rules in one cycle about which a person is asked"""
NO_ROOM = "no_room"
"""A full page has no place for several rules of one turn"""
PASTED = "the turn has several paragraphs, or a text of another person"
REASONS = {
    NO_ROOM: "the turn has several rules, and each would push out an older one",
    "pasted": PASTED,
    "address": "the rule has an address, a number or an amount of money",
    "too_many": "the turn has more than two rules",
}
"""Why a rule is proposed, by the row of the table, in their order"""
_OTHERS = "document"
"""The origin that lets the policy of edits propose a line"""


def propose_rules(cycle: "LearningCycle") -> None:
    """Proposes rules that a person may not have said, or not meant."""
    note = cycle.places.rules
    if not note:
        return
    room = MOST_PROPOSED
    for reason, why in REASONS.items():
        rules = cycle.judged.proposed_rules.get(reason, [])
        doc = cycle.doc(note)
        lines = new_rules(doc, [rule.line for rule in rules])
        # A pasted document must not fill INBOX.md; the audit names the others.
        surplus = [
            {"op": "memory", "line": line, "reason": "too many proposals"} for line in lines[room:]
        ]
        ops = ops_for(doc, ACTIVE, lines[:room])
        room -= len(ops)
        cause = EditCause(why=why, origin=_OTHERS)
        cycle.edit(f"proposed rules {reason}", note, [*ops, *surplus], cause=cause)


def propose_facts(cycle: "LearningCycle") -> None:
    """Proposes facts that would end others, of turns that others may have written."""
    note = cycle.places.facts
    page = cycle.doc(note)
    ops: list[dict[str, Any]] = []
    for wish in wishes_of(cycle, cycle.judged.proposed_facts):
        # The new line alone is proposed: once it is approved, it ends the earlier value.
        change = fact_edits.change_of(page, wish)
        added = [as_json(op) for op in change.ops if isinstance(op, Append | AddHeading)]
        ops += added
        page = apply_ops(page, added).doc
    cause = EditCause(why=PASTED, origin=_OTHERS)
    cycle.edit("proposed facts", note, ops, cause=cause)


def tell_archived(cycle: "LearningCycle", applied: Iterable[Mapping[str, Any]]) -> None:
    """Names for the person which rules hold no more, because newer ones took their places."""
    rules = [str(op["match"]) for op in applied if op.get("op") == "archive"]
    if not rules:
        return
    notice = f"moved to the archive of {cycle.places.rules}: {'; '.join(rules)}"
    reasons = filter(None, [cycle.outcome.reason, notice])
    cycle.outcome.reason = "; ".join(reasons)
