"""Policy: which ops the bot may apply by itself, which it must propose, and which it may not do.

Binds the sources `nightly` and `tool`. Each op is judged in the note as the ops before it left it,
so no order of ops gets past a rule that binds a single op.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import normalised_text, parse_item
from vault_memory.markdown.note_items import NoteItem, items_named, items_of
from vault_memory.rules.context.prompt_injection import shaped_like_instruction
from vault_memory.rules.context.rule_archive import is_archive
from vault_memory.rules.context.standing_rules import (
    UNSAID_RULE,
    archived_line,
    is_rules_heading,
    reads_like_rule,
    surplus_rules,
    was_said,
)
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import BOT_SOURCES, Proposal, as_done, propose
from vault_memory.rules.edits.op_target import (
    Target,
    end_of_appends,
    exact_op,
    has_loose_text,
    touched_items,
)
from vault_memory.rules.edits.ops import (
    Applied,
    Archive,
    ItemOp,
    NewText,
    Op,
    Outcome,
    Rejected,
    Remove,
    new_text,
    op_of,
    takes_nested,
)
from vault_memory.rules.edits.ownership import DELETED, Ownership, texts_of

MOST_OF_A_NOTE = 0.3
"""The share of a note's items that one run may remove"""
ALWAYS_REMOVABLE = 2
"""How many of its own items a run may remove from a short note, but never the last"""
MOST_OF_A_PERSON = 5
"""How many items of a person one run may remove"""
GUARDED = frozenset({"user", "channel", "memory", "rules", "facts"})
"""Kinds of notes for which words of others than the owner wait in INBOX"""
WAITS_FOR_REMOVAL = "waits_for_removal"
"""A rule moves to the archive only after a person approved its removal from its section"""
REJECTED = "rejected_by_person"
"""A person rejected this op before"""

ARCHIVE_IS_THE_PERSONS = "rules leave the archive by a person alone"
LIKE_AN_INSTRUCTION = "it looks like an instruction to the bot"
HUMAN_ITEM = "a person wrote the item"
UNSAID = "no recorded turn of its owner in this session says it"

_OWNER = frozenset({"", "owner", "talk"})


@dataclass(frozen=True, slots=True)
class Rules:
    """What policy knows about a run."""

    source: str
    note: str
    kind: str = "user"
    """of the note"""
    ownership: Ownership = field(default_factory=Ownership)
    human_items: Literal["propose", "edit"] = "propose"
    origin: str = "owner"
    """whose words the run is based on; an item's own ``origin:`` can only make it stricter"""
    proposals: Mapping[str, Proposal] = field(default_factory=dict)
    """earlier proposals for this note, by id"""
    why: str = ""
    said: frozenset[str] = frozenset()
    """keys of the owner's sentences in recorded turns of this session; see `standing_rules`"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to the ops of a run."""

    outcome: Outcome
    """the note after the applied ops, and the rejected ops"""
    do: tuple[Op, ...] = ()
    """applied ops and those with nothing to do; each names its complete item, so that it also fits
    newer text"""
    proposed: tuple[Proposal, ...] = ()
    """includes proposals that wait already"""


@dataclass(frozen=True, slots=True)
class _Do:
    """The bot may apply the op."""


@dataclass(frozen=True, slots=True)
class _Propose:
    """A person decides about the op."""

    reason: str
    op: Op
    """the op to propose, made exact"""
    suspicious: bool = False


@dataclass(frozen=True, slots=True)
class _Refuse:
    """The op is not applied."""

    reason: str


_Verdict = _Do | _Propose | _Refuse

_DO = _Do()


def decide(doc: SectionedDoc, ops: Iterable[object], rules: Rules) -> Decision:
    """Applies the allowed ops; proposes or rejects the others. Never raises on any JSON value."""
    ops = list(ops)
    if rules.source not in BOT_SOURCES:
        outcome = apply_ops(doc, ops)
        return Decision(outcome, tuple(applied.op for applied in outcome.applied))
    run = _PolicyRun(doc, rules)
    run.judge_all(ops)
    brake = ""
    if run.removed:
        brake = run.brake(len(items_of(doc)))
    # Fault (H123): a run that would empty the note starts again, and its removals wait
    # for a person.
    if brake:
        run = _PolicyRun(doc, rules, brake)
        run.judge_all(ops)
    outcome = Outcome(run.doc, tuple(run.applied), tuple(run.rejected))
    return Decision(outcome, tuple(run.do), tuple(run.proposed))


def most_removable(count: int) -> int:
    """Returns how many of its own items the bot may remove from a note with `count` items."""
    share = int(MOST_OF_A_NOTE * count)
    return max(share, 1, min(ALWAYS_REMOVABLE, count - 1))


class _PolicyRun:
    """A pass over the ops of a run."""

    def __init__(self, doc: SectionedDoc, rules: Rules, brake: str = "") -> None:
        self.doc = doc
        self.rules = rules
        self.ownership = rules.ownership
        self.removal_brake = brake
        """why no removal is applied in this pass"""
        self._existing_rules = _existing_rules(doc, rules)
        self._rule_waits = False
        """a rule of this run is proposed: what it replaces stays until a person decides"""
        self.applied: list[Applied] = []
        self.rejected: list[Rejected] = []
        self.proposed: list[Proposal] = []
        self.do: list[Op] = []
        self.removed = 0
        self.removed_of_person = 0
        self._proposals_by_text = _proposals_by_text(rules.proposals)

    def judge_all(self, ops: list[object]) -> None:
        """Judges ops in order; a removal and an addition that archive a rule are a pair."""
        index = 0
        while index < len(ops):
            pair = ops[index : index + 2]
            if self._moves_to_archive(pair):
                self._archive(pair)
                index += 2
            else:
                group = self._group_from(ops, index)
                self._judge_group(group)
                index += len(group)

    def _moves_to_archive(self, pair: list[object]) -> bool:
        if self.rules.kind != "rules":
            return False
        return bool(archived_line([op_of(value) for value in pair]))

    def _group_from(self, ops: list[object], start: int) -> list[object]:
        """Returns the op at `start`, with those after it that can be judged together."""
        # Fault (H123): a tool may split a rule over two items. Each of its lines is
        # judged with the item before it.
        is_alone = self.rules.source == "tool" or self.rules.kind == "rules"
        if is_alone or start + 1 == len(ops):
            return ops[start : start + 1]
        return ops[start : end_of_appends(ops, start)]

    def _judge_group(self, group: list[object]) -> None:
        """Judges appends together, and by halves when one of them is not simply applied.

        A note that is parsed for each of many lines would take the square of their number.
        """
        if len(group) == 1:
            self._judge_alone(group[0])
        elif not self._apply_together(group):
            half = len(group) // 2
            self._judge_group(group[:half])
            self._judge_group(group[half:])

    def _apply_together(self, group: list[object]) -> bool:
        """Applies appends if the verdict about each is to do it; returns whether it did."""
        trial = apply_ops(self.doc, group)
        allowed = [item for item in trial.applied if self._is_allowed(item)]
        if len(allowed) < len(group):
            return False
        self.doc = trial.doc
        self.ownership = self.ownership.after(map(as_done, allowed), source=self.rules.source)
        for item in allowed:
            self._accept(item, item.op)
        return True

    def _is_allowed(self, append: Applied) -> bool:
        verdict = self._judge(self._target_of(append.op))
        return append.outcome == "applied" and verdict == _DO

    def _judge_alone(self, value: object) -> None:
        trial = apply_ops(self.doc, [value])
        self.rejected += trial.rejected
        for applied in trial.applied:
            if applied.outcome == "applied":
                self._carry_out(value, applied, trial.doc)
            else:
                self._accept(applied, applied.op)

    def _archive(self, pair: list[object]) -> None:
        """Moves a rule to the archive: applies both ops or none.

        A half of the move would leave the rule twice in the note, or nowhere.
        """
        removal, addition = sorted(pair, key=lambda value: not isinstance(op_of(value), Remove))
        trial = apply_ops(self.doc, [removal, addition])
        if trial.rejected or trial.applied[0].outcome != "applied":
            self._judge_alone(removal)
            self._judge_alone(addition)
            return
        removed, added = trial.applied
        target = self._target_of(removed.op)
        verdict = self._judge_archiving(target)
        if not isinstance(verdict, _Do):
            self._carry_out(removal, removed, trial.doc)
            self.rejected.append(Rejected(addition, WAITS_FOR_REMOVAL))
            return
        self.doc = trial.doc
        self.ownership = self.ownership.after(map(as_done, trial.applied), source=self.rules.source)
        self._accept(removed, target.exact)
        self._accept(added, added.op)

    def _judge_archiving(self, target: Target) -> _Verdict:
        """A surplus rule goes without a question, unless the rule that replaces it waits."""
        if not self._rule_waits and target.touched[0] in surplus_rules(self.doc):
            return _DO
        return self._judge(target)

    def brake(self, count: int) -> str:
        """Returns why this run removes too much of a note with `count` items, or ``""``.

        The bot may always remove some of its own items from a short note. Else it could not
        forget the first of two.
        """
        limit = MOST_OF_A_NOTE * count
        if not self.removed_of_person:
            limit = most_removable(count)
        if self.removed > limit:
            return f"the run would remove {self.removed} of {count} items"
        if self.removed_of_person > MOST_OF_A_PERSON:
            return f"the run would remove {self.removed_of_person} items of a person"
        return ""

    def _carry_out(self, value: object, applied: Applied, after: SectionedDoc) -> None:
        """Applies, proposes or refuses an op by its verdict; `after` is the note with the op."""
        target = self._target_of(applied.op)
        is_move = self.rules.kind == "rules" and isinstance(target.op, Archive)
        verdict = self._judge_archiving(target) if is_move else self._judge(target)
        match verdict:
            case _Refuse(reason):
                self.rejected.append(Rejected(value, reason))
            case _Propose():
                self._propose(value, verdict)
            case _Do():
                self._count_removals(target)
                self.doc = after
                self.ownership = self.ownership.after([as_done(applied)], source=self.rules.source)
                self._accept(applied, target.exact)
            case _:
                assert_never(verdict)

    def _count_removals(self, target: Target) -> None:
        if isinstance(target.op, Remove):
            self.removed += len(target.touched)
            self.removed_of_person += len(target.touched) - len(self._bots(target))

    def _accept(self, applied: Applied, op: Op) -> None:
        self.applied.append(applied)
        self.do.append(op)

    def _propose(self, value: object, verdict: _Propose) -> None:
        reasons = [self.rules.why, verdict.reason]
        proposal = propose(
            self.rules.note,
            verdict.op,
            "; ".join(filter(None, reasons)),
            suspicious=verdict.suspicious,
        )
        previous = self.rules.proposals.get(proposal.id)
        if previous is not None and previous.state == "rejected":
            self.rejected.append(Rejected(value, REJECTED))
            return
        if previous is not None and previous.state == "open":
            proposal = previous
        if all(proposal.id != earlier.id for earlier in self.proposed):
            self.proposed.append(proposal)

    def _target_of(self, op: Op) -> Target:
        """Returns the op with its items. An op that adds touches none."""
        if not isinstance(op, ItemOp):
            return Target(op, op, [], [])
        items = items_named(self.doc, op.heading)
        touched = touched_items(op, items)
        return Target(op, exact_op(op, touched, items), items, touched)

    # --- The verdict -----------------------------------------------------------------------

    def _judge(self, target: Target) -> _Verdict:
        """Returns the verdict of the first rule that applies."""
        text = new_text(target.exact)
        # Fault (A9): a line that a person deleted must not come back by the next night.
        if any(self.ownership.deleted(self.doc, text.heading, line) for line in text.lines):
            return _Refuse(DELETED)
        previous = self._proposed_before(target.exact)
        if previous is not None and previous.state == "rejected":
            return _Refuse(REJECTED)
        if previous is not None and previous.state == "open":
            op = op_of(previous.op) or target.exact
            return _Propose(previous.why, op, previous.suspicious)
        verdict = self._judge_text(target, text) or self._judge_removal(target)
        if verdict is not None:
            return verdict
        if previous is not None and previous.state == "expired":
            return _Propose(previous.why, target.exact, previous.suspicious)
        return _DO

    def _judge_text(self, target: Target, text: NewText) -> _Propose | None:
        """Judges what an op writes: instructions, rules nobody gave, words of strangers."""
        suspicious = any(map(shaped_like_instruction, text.texts))
        if self.rules.source == "tool":
            # Fault (H123): a tool call may carry an instruction that a web page put
            # into the bot's mouth.
            if self._is_unsaid_rule(text):
                self._rule_waits = True
                reason = LIKE_AN_INSTRUCTION if suspicious else UNSAID_RULE
                return _Propose(reason, target.exact, suspicious)
        elif suspicious:
            return _Propose(LIKE_AN_INSTRUCTION, target.exact, suspicious=True)
        stranger = self._stranger(text.lines)
        if stranger:
            is_unsaid = stranger == self.rules.source == "tool"
            reason = UNSAID if is_unsaid else f"it comes from: {stranger}"
            return _Propose(reason, target.exact)
        return None

    def _judge_removal(self, target: Target) -> _Propose | None:
        """Judges what an op takes away."""
        op = target.op
        if not isinstance(op, ItemOp):
            return None
        is_rules = self.rules.kind == "rules"
        if is_rules and is_archive(op.heading):
            return _Propose(ARCHIVE_IS_THE_PERSONS, target.exact)
        if takes_nested(op):
            if self.removal_brake:
                return _Propose(self.removal_brake, target.exact)
            if is_rules and self._rule_waits:
                return _Propose(UNSAID_RULE, target.exact)
        if self.rules.human_items == "propose" and self._touches_a_person(target):
            return _Propose(HUMAN_ITEM, target.exact)
        return None

    def _is_unsaid_rule(self, text: NewText) -> bool:
        """Returns whether a tool would write a rule that the owner did not say in this session."""
        appends = text.place == "end"
        if appends and is_archive(text.heading) and not self._rule_waits:
            lines = self._without_retired_rules(text.lines)
            text = replace(text, lines=lines)
        unsaid = [line for line in text.texts if not was_said(line, self.rules.said)]
        return bool(unsaid) and self._contain_rule(text, unsaid)

    def _without_retired_rules(self, lines: tuple[str, ...]) -> tuple[str, ...]:
        """Leaves out rules that retire into the archive: they were said when they were written."""
        return tuple(line for line in lines if normalised_text(line) not in self._existing_rules)

    def _contain_rule(self, text: NewText, unsaid: list[str]) -> bool:
        """Returns whether one of the unsaid texts of an op is a rule, or a part of one."""
        goes_to_rules = bool(text.lines) and is_rules_heading(text.heading)
        if self.rules.kind == "rules" or goes_to_rules:
            return not set(unsaid).isdisjoint(text.lines)
        if any(map(reads_like_rule, unsaid)):
            return True
        # Fault (H123): a rule split over two items reads like a rule only when they are
        # joined.
        if len(unsaid) > 1 and reads_like_rule(" ".join(unsaid)):
            return True
        return text.place == "end" and self._completes_rule(text.heading, unsaid[0])

    def _completes_rule(self, heading: str, line: str) -> bool:
        """Returns whether an appended line and the item before it are a rule together."""
        items = items_named(self.doc, heading)
        if not items or reads_like_rule(items[-1].text):
            return False
        return reads_like_rule(f"{parse_item(items[-1].text).text} {line}")

    def _proposed_before(self, op: Op) -> Proposal | None:
        """Returns the proposal of this op, or an earlier one that would write the same text."""
        if not self.rules.proposals:
            return None
        same_op = self.rules.proposals.get(propose(self.rules.note, op, "").id)
        if same_op or new_text(op).place == "item":
            return same_op
        return self._proposals_by_text.get(texts_of(op))

    def _stranger(self, lines: tuple[str, ...]) -> str:
        """Returns who said these words, when it was not the owner and the note is guarded."""
        if self.rules.kind not in GUARDED:
            return ""
        origins = [self.rules.origin, *(parse_item(line).origin for line in lines)]
        return next((origin for origin in origins if origin not in _OWNER), "")

    def _touches_a_person(self, target: Target) -> bool:
        """Returns whether an op changes text that the bot did not write."""
        if not isinstance(target.op, ItemOp):
            return False
        bots = self._bots(target)
        if not takes_nested(target.op):
            return target.touched[0] not in bots
        is_mixed = len(bots) < len(target.touched)
        return is_mixed or has_loose_text(self.doc, target.touched)

    def _bots(self, target: Target) -> list[NoteItem]:
        """Returns the touched items that the bot wrote."""
        if not target.touched:
            return []
        own = set(self.ownership.bots_among(target.items))
        return [item for item in target.touched if item in own]


def _existing_rules(doc: SectionedDoc, rules: Rules) -> frozenset[str]:
    if rules.kind != "rules":
        return frozenset()
    return frozenset(item.key[1] for item in items_of(doc))


def _proposals_by_text(proposals: Mapping[str, Proposal]) -> dict[frozenset[str], Proposal]:
    by_text = {texts_of(proposal.op): proposal for proposal in proposals.values()}
    by_text.pop(frozenset(), None)
    return by_text
