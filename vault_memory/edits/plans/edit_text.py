"""What a run does that edits a note as a text, for the memory tool: bound by the policy that binds ops.

The bot edits the lines that it wrote. What would change a line of a person is proposed where an op can say it, and
refused where none can.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.plan import Plan, PlanInputs, apply_by_policy
from vault_memory.markdown.document import SectionedDoc, parse, render
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.context.prompt_injection import shaped_like_instruction
from vault_memory.rules.context.standing_rules import (
    is_rules_heading,
    reads_like_rule,
    was_said,
)
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.blame import (
    added,
    bots_lines,
    of_people,
    taken_away,
    were_deleted,
)
from vault_memory.rules.edits.ops import Append, Op, Rejected, Remove, Replace, as_json
from vault_memory.rules.edits.ownership import DELETED, replay
from vault_memory.rules.edits.text_edits import Edited, Unfit, edit_text

A_PERSONS = "a_person_wrote_it"
LIKE_AN_INSTRUCTION = "looks_like_instruction"
STANDING_RULE = "standing_rule"
STRUCTURE = "would_change_structure"

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_MARKERS = " \t-*+>#"


@dataclass(frozen=True, slots=True)
class _Change:
    """A note before and after an edit."""

    before: bytes
    after: bytes
    """empty where the note goes"""

    def keys(self) -> tuple[list[list[str]], list[list[str]]]:
        """The items that went and that came: section and normalised text."""
        old, new = (
            Counter(item.key for item in items_of(parse(raw)))
            for raw in (self.before, self.after)
        )
        return [list(key) for key in old - new], [list(key) for key in new - old]

    def fresh_items(self) -> list[NoteItem]:
        """The items that came."""
        old = {item.key for item in items_of(parse(self.before))}
        return [item for item in items_of(parse(self.after)) if item.key not in old]


def plan_text_edit(
    run: EditCommand, edit: object, before: bytes | None, known: PlanInputs
) -> Plan:
    """The edit on this text, as far as the bot may make it by itself."""
    if not isinstance(edit, Mapping):
        return Plan(before, before)
    told: dict[str, Any] = {"op": edit.get("op")} | {
        key: edit[key] for key in ("from", "to") if key in edit
    }
    made = edit_text(edit, before)
    if isinstance(made, Unfit):
        return Plan(before, before, (RecordedOp(told, "noop_no_match"),))
    change = _Change(before or b"", made.after or b"")
    moved = edit.get("op") == "rename" and made.after is not None
    if not moved and (refusal := _refusal(run, change, known)):
        asked = _asked(run, change, known) if made.after is not None else None
        return asked or Plan(before, before, (), (Rejected(told, refusal),))
    took, wrote = change.keys()
    return Plan(
        before,
        made.after,
        (RecordedOp(told | {"took": took, "wrote": wrote}, _outcome(before, made)),),
    )


def _outcome(before: bytes | None, made: Edited) -> str:
    return "noop_dup" if made.after == before else "applied"


def _refusal(run: EditCommand, change: _Change, known: PlanInputs) -> str:
    """Why the bot may not make this change by itself; empty when it may."""
    records = known.records(run.note)
    bots, owned = bots_lines(records), replay(records)
    lines, fresh = added(change.before, change.after), change.fresh_items()
    doc = parse(change.before)
    if were_deleted(lines, change.before, bots) or any(
        owned.deleted(doc, one.heading, one.text) for one in fresh
    ):
        return DELETED
    if _instructs(lines, change.after):
        return LIKE_AN_INSTRUCTION
    if run.source == "tool" and _writes_rule(run, lines, change.after):
        return STANDING_RULE
    if known.human_items == "edit":
        return ""
    theirs = of_people(change.before, bots)
    if theirs & taken_away(change.before, change.after):
        return A_PERSONS
    return STRUCTURE if _reads_otherwise(doc, change, theirs) else ""


def _instructs(lines: list[bytes], after: bytes) -> bool:
    """Whether a paragraph reads as an instruction now that these lines are in it, and does not without them."""
    fresh = set(lines)
    for block in after.replace(b"\r\n", b"\n").split(b"\n\n"):
        rows = [line.strip() for line in block.split(b"\n")]
        old = [row for row in rows if row not in fresh]
        if len(old) == len(rows) or shaped_like_instruction(_joined(old)):
            continue
        if any(
            shaped_like_instruction(_joined([row])) for row in rows
        ) or shaped_like_instruction(_joined(rows)):
            return True
    return False


def _writes_rule(run: EditCommand, lines: list[bytes], after: bytes) -> bool:
    """Whether one of these lines is a standing rule that the owner did not say: by its words or by its heading."""
    fresh, said = set(lines), frozenset(run.owner_words)
    below_rules, level, before = False, 0, ""
    for row in after.replace(b"\r", b"\n").split(b"\n"):
        text = row.strip().decode("utf-8", "replace")
        heading = _HEADING.match(text)
        if heading and (not below_rules or len(heading[1]) <= level):
            below_rules, level = is_rules_heading(heading[2]), len(heading[1])
        if row.strip() in fresh and not was_said(text, said):
            in_rules = not heading and (below_rules or run.kind == "rules")
            if in_rules or reads_like_rule(text) or _completes_rule(before, text):
                return True
        before = text
    return False


def _completes_rule(before: str, text: str) -> bool:
    """Whether a line is a rule together with the one before it: a wrapped sentence."""
    return (
        bool(before)
        and not reads_like_rule(before)
        and reads_like_rule(f"{before} {text.lstrip(_MARKERS)}")
    )


def _joined(rows: list[bytes]) -> str:
    return b" ".join(rows).decode("utf-8", "replace")


def _reads_otherwise(
    doc: SectionedDoc, change: _Change, theirs: frozenset[bytes]
) -> bool:
    """Whether an item of a person would be none any more, though its lines stay: in a code fence, or elsewhere."""
    people = Counter(
        item.key
        for item in items_of(doc)
        if not theirs.isdisjoint(_own_lines(doc, item))
    )
    return bool(people - Counter(item.key for item in items_of(parse(change.after))))


def _own_lines(doc: SectionedDoc, item: NoteItem) -> list[bytes]:
    own = doc.sections[item.section].body[item.start : item.own_end]
    return [line.strip() for line in own.split(b"\n")]


def _asked(run: EditCommand, change: _Change, known: PlanInputs) -> Plan | None:
    """The plan that carries the same change out as ops, so that what a person must decide is proposed to them."""
    ops = _as_ops(change)
    if not ops:
        return None
    outcome, proposed = apply_by_policy(
        run, change.before, tuple(map(as_json, ops)), known
    )
    did = any(done.outcome == "applied" for done in outcome.applied)
    if not did and not proposed:
        return None
    after = render(outcome.doc) if did else change.before
    return Plan(change.before, after, outcome.applied, outcome.rejected, proposed)


def _as_ops(change: _Change) -> list[Op]:
    """Ops that make just this change; none when ops cannot say it."""
    old, new = items_of(parse(change.before)), items_of(parse(change.after))
    came_keys = Counter(item.key for item in new) - Counter(item.key for item in old)
    went_keys = Counter(item.key for item in old) - Counter(item.key for item in new)
    came = [item for item in new if item.key in came_keys]
    went = [item for item in old if item.key in went_keys]
    if len(came) == len(went) == 1 and came[0].heading == went[0].heading:
        tries: list[Op] = [Replace(went[0].heading, went[0].text, came[0].text)]
    else:
        tries = [
            *(Remove(item.heading, item.text) for item in went),
            *(Append(item.heading, item.text) for item in came),
        ]
    done = apply_ops(parse(change.before), tries)
    return tries if render(done.doc) == change.after else []
