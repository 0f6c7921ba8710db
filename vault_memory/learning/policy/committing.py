"""The steps that carry out the decisions of the write policy: requests, held candidates,
withdrawals, and questions to a person about what others may have written.
"""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.edits.commands import ChangeFacts
from vault_memory.edits.plans import fact_edits
from vault_memory.learning.attributes import wishes_of
from vault_memory.learning.duplicates import existing_items, record_late_skips
from vault_memory.learning.learned_rules import ACTIVE, new_rules, rule_ops
from vault_memory.learning.note_lines import LEARNED, ops_for
from vault_memory.learning.outcomes import EditCause
from vault_memory.learning.unread_turns import day_of
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import day as parse_day
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.ops import AddHeading, Append, as_json
from vault_memory.rules.facts.fact import Fact
from vault_memory.rules.learning.duplicate_filter import NewLine
from vault_memory.rules.learning.ledger_lines import FEEDBACK, HELD, SAFETY
from vault_memory.rules.learning.policy.held_candidates import HeldCandidate

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle
    from vault_memory.learning.night_deps import PolicyDeps


REMEMBERED = "Remembered"
"""The section for texts that someone asked to remember"""
LOG_DAYS = {SAFETY: 90, FEEDBACK: 180}
"""Days after which a log is deleted"""
MOST_REMEMBERED = 50
"""Lines of that section; the oldest of more move to another note"""
OVERFLOW = "remembered.md"
"""The note for the oldest of them"""
ASKED = "asked to remember"
_REF = "ref:"

Ops = list[dict[str, object]]


def request_lines(cycle: "LearningCycle") -> list[NewLine]:
    """Returns what the person asked to remember, as lines for the profile."""
    note = cycle.places.profile
    return [
        NewLine(note, REMEMBERED, request.line, request.turn.id)
        for request in cycle.judged.requests
    ]


def write_requests(cycle: "LearningCycle") -> None:
    """Writes what the person asked to remember into the profile, in the words of the person."""
    lines = cycle.judged.new_requests
    if not lines:
        return
    note = cycle.places.profile
    ops = ops_for(cycle.doc(note), REMEMBERED, lines)
    result = cycle.edit("requests", note, ops, cause=EditCause("talk", ASKED))
    record_late_skips(cycle)
    cycle.outcome.memories += len(result.applied)
    cycle.commit("remember", note, result.applied)
    _move_oldest(cycle, note)


def _move_oldest(cycle: "LearningCycle", note: str) -> None:
    """Moves the oldest lines that the person said to a note, so that the profile stays short."""
    items = _remembered(cycle.doc(note))
    surplus = len(items) - MOST_REMEMBERED
    if surplus <= 0:
        return
    # Fault: a line that the person typed by hand has no turn. It is theirs, and remains where it
    # is.
    spoken = [item.text for item in items if _REF in item.text]
    oldest = sorted(spoken, key=_day_of_line)[:surplus]
    target = f"{cycle.places.notes}{OVERFLOW}"
    ops = ops_for(cycle.doc(target), REMEMBERED, oldest)
    why = f"{note} has more than {MOST_REMEMBERED} lines to remember"
    # Fault: the lines are in the second note before the first one loses them. A crash between the
    # two loses none.
    cause = EditCause("talk", why)
    cycle.edit("overflow", target, ops, cause=cause)
    # A line that is in both notes after a crash moves again in the next cycle.
    removals = [_removal(REMEMBERED, text) for text in oldest]
    cycle.edit("moved", note, removals, cause=cause)


def _remembered(doc: SectionedDoc) -> list[NoteItem]:
    return [item for item in items_of(doc) if item.heading == REMEMBERED]


def _day_of_line(text: str) -> date:
    return parse_item(text).date or date.min


# Fault: a line of nearly the same text must not be removed in its place.
def _removal(heading: str, text: str) -> dict[str, object]:
    return {"op": "remove", "heading": heading, "match": text, "exact": True}


def hold_candidates(cycle: "LearningCycle") -> None:
    """Writes held candidates that enough turns say by now, and stores those that wait."""
    policy = cycle.deps.policy
    if policy is None or cycle.request.at_once:
        return
    _store(cycle, policy, cycle.judged.held)
    for candidate in cycle.judged.due:
        result = _promote(cycle, candidate)
        record_id = cycle.checkpoint.runs.get(_step_of(candidate), "")
        # Fault: nothing was written, so there is no record to undo.
        promoted = {"state": "promoted", "audit": record_id}
        if not result:
            promoted["audit"] = ""
        _append(cycle, policy, [candidate.as_record() | promoted])


def _store(
    cycle: "LearningCycle", policy: "PolicyDeps", candidates: Iterable[HeldCandidate]
) -> None:
    new_lines = [candidate.as_record() for candidate in candidates]
    if not new_lines:
        return
    # A cycle that was killed has stored some of them.
    stored = policy.ledgers.records(cycle.places, HELD)
    _append(cycle, policy, [line for line in new_lines if line not in stored])


def _append(cycle: "LearningCycle", policy: "PolicyDeps", lines: list[dict[str, Any]]) -> None:
    # Fault: a dry run must not change the ledger.
    if lines and not cycle.request.dry_run:
        policy.ledgers.append(cycle.places, HELD, lines)


def _step_of(candidate: HeldCandidate) -> str:
    return f"held {candidate.id}"


def _promote(cycle: "LearningCycle", candidate: HeldCandidate) -> bool:
    """Writes a held candidate where its kind belongs. Returns whether it changed a note."""
    turns = ", ".join(sorted(support.turn for support in candidate.active))
    why = f"held back: {candidate.policy_class}, {candidate.reason}; said in the turns {turns}"
    step = _step_of(candidate)
    places = cycle.places
    # Fault: a promoted fact that skips the rules of facts would stand beside the one that it
    # replaces.
    if candidate.kind == "fact":
        action = ChangeFacts((_wish(cycle, candidate),))
        result = cycle.edit(step, places.facts, action=action, cause=EditCause(why=why))
        note = places.facts
        cycle.outcome.facts += bool(result.applied)
    else:
        note, ops = _place(cycle, candidate)
        # A cycle that was killed may have written the line already.
        if step not in cycle.checkpoint.runs and _is_present(cycle, candidate):
            return False
        is_spoken = candidate.kind in ("rule", "remember")
        source = "talk" if is_spoken else "nightly"
        result = cycle.edit(step, note, ops, cause=EditCause(source, why))
        if candidate.kind == "rule":
            cycle.outcome.rules += bool(result.applied)
        else:
            cycle.outcome.memories += bool(result.applied)
    cycle.commit(candidate.kind, note, result.applied)
    return bool(result.applied)


def _is_present(cycle: "LearningCycle", candidate: HeldCandidate) -> bool:
    # Fault: the line has a date where the candidate has "tomorrow".
    key = content_key(cycle.scope, candidate.line or candidate.text)
    items = existing_items(cycle)
    return any(content_key(cycle.scope, item.text) == key for item in items)


def _place(cycle: "LearningCycle", candidate: HeldCandidate) -> tuple[str, Ops]:
    # Fault: a rule in a dated note would bind no later session.
    places = cycle.places
    match candidate.kind:
        case "rule":
            return places.rules, rule_ops(cycle.doc(places.rules), [candidate.line])
        case "remember":
            note, heading = places.profile, REMEMBERED
        case _:
            day = parse_day(candidate.day) or cycle.night
            note, heading = places.note_of(day), candidate.section or LEARNED
    return note, ops_for(cycle.doc(note), heading, [candidate.line])


def _wish(cycle: "LearningCycle", candidate: HeldCandidate) -> "fact_edits.Wish":
    fact = fact_of_candidate(candidate, cycle.scope)
    rules = cycle.deps.fact_rules(parse_day(candidate.day) or cycle.night)
    return fact_edits.wish_of("add", cycle.scope, rules, fact=fact)


def fact_of_candidate(candidate: HeldCandidate, scope: str) -> Fact:
    """Returns the fact that a held candidate states."""
    fields = dict(candidate.fact)
    return Fact(
        "",
        fields.get("subject") or scope.partition(":")[2],
        fields.get("predicate", ""),
        fields.get("object", candidate.text),
        parse_day(fields.get("from", "")),
        parse_day(fields.get("until", "")),
        ref=min(support.turn for support in candidate.active),
        scope=scope,
    )


def take_back(cycle: "LearningCycle") -> None:
    """Removes what earlier cycles wrote from turns that the person took back since."""
    turns = cycle.judged.withdrawn_turns
    if not turns:
        return
    notes: dict[str, set[str]] = {}
    for turn in turns:
        for note in _notes_of(cycle, turn):
            notes.setdefault(note, set()).add(turn.id)
    for note, refs in notes.items():
        items = items_of(cycle.doc(note))
        ops = [
            _removal(item.heading, item.text)
            for item in items
            # Fault: a model's line may share words with the withdrawn one. Only the turn in its
            # reference counts.
            if parse_item(item.text).ref in refs
        ]
        why = f"taken back after the turns {', '.join(sorted(refs))}"
        cycle.edit(f"taken back {note}", note, ops, cause=EditCause("talk", why))


def _notes_of(cycle: "LearningCycle", turn: Turn) -> list[str]:
    places = cycle.places
    notes = [
        places.note_of(day_of(turn, cycle.zone)),
        places.profile,
        places.facts,
        # Fault: a scope without a RULES.md has an empty path, which is no note.
        places.rules,
    ]
    return [note for note in notes if note]


def end_logs(cycle: "LearningCycle") -> None:
    """Deletes logs of safety and feedback that are too old, by the dates of their files."""
    policy = cycle.deps.policy
    # Fault: a dry run must not delete logs.
    if policy is None or cycle.request.dry_run:
        return
    for name, days in LOG_DAYS.items():
        first = cycle.night - timedelta(days=days)
        policy.ledgers.remove_before(cycle.places, name, first)


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
