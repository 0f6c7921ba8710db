"""Plans text edits of the memory tool, bound by the same policy as ops.

The bot edits the lines that it wrote. A change of a person's line is proposed where ops can express it, and refused
where they cannot.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.context.prompt_injection import shaped_like_instruction
from vault_memory.rules.context.standing_rules import is_rules_heading, reads_like_rule, was_said
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.blame import added, bots_lines, of_people, taken_away, were_deleted
from vault_memory.rules.edits.ops import Append, Op, Rejected, Remove, Replace, as_json
from vault_memory.rules.edits.ownership import DELETED, Ownership, replay
from vault_memory.rules.edits.text_edits import Unfit, edit_text
from vault_memory.rules.learning.write_policy import NEVER_STORED

OF_A_PERSON = "a_person_wrote_it"
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
    """empty when the edit takes the note away"""

    def new_items(self) -> list[NoteItem]:
        """Returns the items whose text was not in the note."""
        old_keys = _count_items(self.before)
        items = items_of(parse(self.after))
        return [item for item in items if item.key not in old_keys]


def plan_text_edit(
    command: EditCommand, edit: object, before: bytes | None, inputs: PlanInputs
) -> EditPlan:
    """Returns the plan of an edit, as far as the bot may make it by itself."""
    # Fault: a model may send any value as its edit.
    if not isinstance(edit, Mapping):
        return EditPlan(before, before)
    op: dict[str, Any] = {"op": edit.get("op")}
    op |= {name: edit[name] for name in ("from", "to") if name in edit}
    edited = edit_text(edit, before)
    if isinstance(edited, Unfit):
        return EditPlan(before, before, (RecordedOp(op, "noop_no_match"),))
    change = _Change(before or b"", edited.after or b"")
    takes_note_away = edited.after is None
    # A renamed note keeps its lines: policy judged them when they were written.
    is_arrival = edit.get("op") == "rename" and not takes_note_away
    refusal = "" if is_arrival else _find_refusal(command, change, inputs)
    if refusal:
        # What must not be stored is no proposal either. Fault: as an op, a line that a person deleted
        # from another note of the scope would be written again.
        is_final = takes_note_away or refusal in (DELETED, *NEVER_STORED)
        proposal = None if is_final else _propose_as_ops(command, change, inputs)
        return proposal or EditPlan(before, before, (), (Rejected(op, refusal),))
    outcome = "noop_dup" if edited.after == before else "applied"
    # Section and normalised text of the items.
    old, new = _count_items(change.before), _count_items(change.after)
    op |= {"took": [*map(list, old - new)], "wrote": [*map(list, new - old)]}
    return EditPlan(before, edited.after, (RecordedOp(op, outcome),))


def _kept_out(change: _Change, kept_out: KeptOut) -> str:
    """Returns why a tool does not store what an edit adds, or an empty string."""
    new_lines = set(added(change.before, change.after))
    reasons = (
        _kept_out_of_block(heading, rows, new_lines, kept_out)
        for heading, rows in _blocks(change.after)
        if new_lines
    )
    return next(filter(None, reasons), "")


def _kept_out_of_block(
    heading: str, rows: list[bytes], new_lines: set[bytes], kept_out: KeptOut
) -> str:
    if new_lines.isdisjoint(rows):
        return ""
    # Fault: what a person wrote must not keep the tool from a note.
    if kept_out(heading, [_words(row) for row in rows if row not in new_lines]):
        return ""
    return kept_out(heading, map(_words, rows))


def _blocks(raw: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Yields the rows of each paragraph with the words of the heading above it."""
    heading = ""
    for block in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        rows = [row.strip() for row in block.split(b"\n")]
        yield heading, rows
        headings = [row for row in rows if row.startswith(b"#")]
        heading = _words(headings[-1]) if headings else heading


def _words(row: bytes) -> str:
    return row.decode("utf-8", "replace").strip(_MARKERS)


def _count_items(raw: bytes) -> Counter[tuple[str, str]]:
    return Counter(item.key for item in items_of(parse(raw)))


def _find_refusal(command: EditCommand, change: _Change, inputs: PlanInputs) -> str:
    """Returns why the bot may not make the change by itself, or an empty string."""
    kept_out = _kept_out(change, inputs.kept_out_of(command))
    if kept_out:
        return kept_out
    records = inputs.records(command.note)
    bot_lines = bots_lines(records)
    owners = replay(records)
    lines = added(change.before, change.after)
    doc = parse(change.before)
    if were_deleted(lines, change.before, bot_lines):
        return DELETED
    if _brings_back(command, change, owners, inputs):
        return DELETED
    if _makes_instruction(lines, change.after):
        return LIKE_AN_INSTRUCTION
    if command.source == "tool" and _writes_rule(command, lines, change.after):
        return STANDING_RULE
    if inputs.human_items == "edit":
        return ""
    human_lines = of_people(change.before, bot_lines)
    if human_lines & taken_away(change.before, change.after):
        return OF_A_PERSON
    # Fault (A9): a code fence around a person's lines keeps each of them, and takes
    # them out of the memory.
    if _unmakes_human_item(doc, change, human_lines):
        return STRUCTURE
    return ""


def _brings_back(
    command: EditCommand, change: _Change, owners: Ownership, inputs: PlanInputs
) -> bool:
    """Whether a new item was deleted by a person, from this note or another one of the scope."""
    doc = parse(change.before)
    is_deleted = inputs.is_deleted(command, change.before)
    return any(
        owners.deleted(doc, item.heading, item.text) or is_deleted(item.heading, item.text)
        for item in change.new_items()
    )


def _makes_instruction(lines: list[bytes], after: bytes) -> bool:
    """Whether a paragraph reads as an instruction with these lines, and does not without them."""
    new_lines = set(lines)
    for _, rows in _blocks(after):
        old_rows = [row for row in rows if row not in new_lines]
        if len(old_rows) == len(rows) or _is_instruction(old_rows):
            continue
        # Fault (H123): one row may be an instruction, or several that wrap one
        # sentence.
        if any(_is_instruction([row]) for row in rows) or _is_instruction(rows):
            return True
    return False


def _is_instruction(rows: list[bytes]) -> bool:
    return shaped_like_instruction(b" ".join(rows).decode("utf-8", "replace"))


def _writes_rule(command: EditCommand, lines: list[bytes], after: bytes) -> bool:
    """Whether a line is a standing rule, by its words or its heading, that the owner did not say."""
    new_lines = set(lines)
    owner_words = frozenset(command.owner_words)
    is_rules_note = command.kind == "rules"
    is_below_rules = False
    level = 0
    previous = ""
    for row in after.replace(b"\r", b"\n").split(b"\n"):
        text = row.strip().decode("utf-8", "replace")
        heading = _HEADING.match(text)
        if heading and (not is_below_rules or len(heading[1]) <= level):
            is_below_rules = is_rules_heading(heading[2])
            level = len(heading[1])
        if row.strip() in new_lines and not was_said(text, owner_words):
            is_among_rules = not heading and (is_below_rules or is_rules_note)
            if is_among_rules or _is_rule(text, previous):
                return True
        previous = text
    return False


def _is_rule(text: str, previous: str) -> bool:
    """Whether a line reads as a rule, by itself or as the end of a sentence that the previous line begins."""
    if reads_like_rule(text):
        return True
    if not previous or reads_like_rule(previous):
        return False
    return reads_like_rule(f"{previous} {text.lstrip(_MARKERS)}")


def _unmakes_human_item(doc: SectionedDoc, change: _Change, human_lines: frozenset[bytes]) -> bool:
    """Whether an item of a person stops being one, though its lines stay: in a code fence, for example."""
    human_items = Counter(
        item.key for item in items_of(doc) if not human_lines.isdisjoint(_own_lines(doc, item))
    )
    return bool(human_items - _count_items(change.after))


def _own_lines(doc: SectionedDoc, item: NoteItem) -> list[bytes]:
    own = doc.sections[item.section].body[item.start : item.own_end]
    return [line.strip() for line in own.split(b"\n")]


def _propose_as_ops(command: EditCommand, change: _Change, inputs: PlanInputs) -> EditPlan | None:
    """Returns a plan of the same change as ops, which proposes what a person must decide; None where there is none."""
    ops = _express_as_ops(change)
    if not ops:
        return None
    json_ops = tuple(map(as_json, ops))
    outcome, proposed = apply_by_policy(command, change.before, json_ops, inputs)
    is_changed = any_applied(outcome.applied)
    if not is_changed and not proposed:
        return None
    after = render(outcome.doc) if is_changed else change.before
    return EditPlan(change.before, after, outcome.applied, outcome.rejected, proposed)


def _express_as_ops(change: _Change) -> list[Op]:
    """Returns ops that make exactly this change; none where ops cannot express it."""
    old_items = items_of(parse(change.before))
    new_items = items_of(parse(change.after))
    old_keys = Counter(map(_with_box, old_items))
    new_keys = Counter(map(_with_box, new_items))
    added_keys, removed_keys = new_keys - old_keys, old_keys - new_keys
    added_items = [item for item in new_items if _with_box(item) in added_keys]
    removed_items = [item for item in old_items if _with_box(item) in removed_keys]
    ways: list[list[Op]] = []
    if len(added_items) == len(removed_items) == 1:
        ways = _replacements(removed_items[0], added_items[0])
    ways.append(
        [
            *(Remove(item.heading, item.text) for item in removed_items),
            *(Append(item.heading, _line_of(item, item.text)) for item in added_items),
        ]
    )
    # Fault: ops know items only. An edit that also changes a blank line or a heading
    # would be proposed as another one.
    exact = (
        way for way in ways if render(apply_ops(parse(change.before), way).doc) == change.after
    )
    return next(exact, [])


def _replacements(old: NoteItem, new: NoteItem) -> list[list[Op]]:
    """Returns the ways to replace an item: its first paragraph, or all that it says."""
    if old.heading != new.heading:
        return []
    # Fault: the code, quotes and properties below a paragraph are no words of its line.
    texts = ((old.paragraph, new.paragraph), (old.text, new.text))
    return [[Replace(old.heading, match, _line_of(new, text))] for match, text in texts]


def _with_box(item: NoteItem) -> tuple[str, tuple[str, str]]:
    return item.box, item.key


def _line_of(item: NoteItem, text: str) -> str:
    """Returns the line with which an op writes a text of an item."""
    return f"[{item.box}] {text}" if item.box else text
