"""What the bot may do to a note by itself, what it must ask a person for, and what it may not do.

Policy binds the sources `nightly` and `tool`. It looks at each op in the note as the ops before it left it, so that no
order of ops reaches what one op would not.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import normalised, parse_item
from vault_memory.markdown.note_items import (
    NoteItem,
    folded,
    items_of,
    section_items,
    section_named,
)
from vault_memory.rules.context.prompt_injection import shaped_like_instruction
from vault_memory.rules.context.rule_archive import is_archive
from vault_memory.rules.context.standing_rules import (
    UNSAID_RULE,
    is_rules_heading,
    reads_like_rule,
    was_said,
)
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import (
    BOT_SOURCES,
    Proposal,
    as_done,
    propose,
)
from vault_memory.rules.edits.ops import (
    AddHeading,
    Append,
    Applied,
    Op,
    Outcome,
    Rejected,
    Remove,
    Replace,
    as_json,
)
from vault_memory.rules.edits.ownership import DELETED, Ownership, op_of, texts_of
from vault_memory.rules.edits.stale_save import WHY as NO_LONGER_THERE
from vault_memory.rules.learning.rule_cap import archived_line, surplus_rules

MOST_OF_A_NOTE = 0.3
"""The share of a note's items that one run may remove"""
ALWAYS_REMOVABLE = 2
"""So many of its own items one run may remove from a note however short, but not all of several"""
MOST_OF_A_PERSON = 5
"""How many items of a person one run may remove"""
GUARDED = frozenset({"user", "channel", "memory", "rules"})
"""Kinds of notes that what others than the owner said reaches only through INBOX"""
WAITS_FOR_REMOVAL = "waits_for_removal"
"""A rule goes to the archive when a person has approved that it leaves its section"""
REJECTED = "rejected_by_person"
"""A person saw this very op, and did not want it"""

ARCHIVE_IS_THE_PERSONS = "rules leave the archive by a person alone"
LIKE_AN_INSTRUCTION = "it looks like an instruction to the bot"

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
    """whose words the run goes back to; an item's own ``origin:`` can only make it stricter"""
    proposals: Mapping[str, Proposal] = field(default_factory=dict)
    """what was proposed for this note before, by id"""
    why: str = ""
    said: frozenset[str] = frozenset()
    """keys of the sentences that the owner says in recorded turns of this session; see `standing_rules`"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the ops of a run."""

    outcome: Outcome
    """the note after those that were done, and what was refused"""
    do: tuple[Op, ...] = ()
    """the ops that were done, or had nothing to do; each names its whole item, so that newer text may get them too"""
    proposed: tuple[Proposal, ...] = ()
    """also such as wait already"""


@dataclass(frozen=True, slots=True)
class _Verdict:
    act: Literal["do", "propose", "refuse"]
    reason: str = ""
    op: Op | None = None
    """the op to propose, made exact"""
    suspicious: bool = False


_DO = _Verdict("do")


def decide(doc: SectionedDoc, ops: Iterable[object], rules: Rules) -> Decision:
    """Carries out what may be done now; the rest is proposed or refused. Never raises on any JSON."""
    ops = list(ops)
    if rules.source not in BOT_SOURCES:
        outcome = apply_ops(doc, ops)
        return Decision(outcome, tuple(applied.op for applied in outcome.applied))
    run = _Run(doc, rules)
    run.take(ops)
    held = run.brake(len(items_of(doc)) if run.removed else 0)
    if held:
        run = _Run(doc, rules, held)
        run.take(ops)
    return Decision(
        Outcome(run.doc, tuple(run.applied), tuple(run.rejected)),
        tuple(run.do),
        tuple(run.proposed),
    )


class _Run:
    """One pass over the ops of a run."""

    def __init__(self, doc: SectionedDoc, rules: Rules, held: str = "") -> None:
        self.doc, self.rules, self.ownership = doc, rules, rules.ownership
        self.held = held
        """why no removal is done in this pass"""
        self._there = (
            {item.key[1] for item in items_of(doc)}
            if rules.kind == "rules"
            else frozenset[str]()
        )
        self._rule_waits = False
        """a rule of this run is proposed: what it was to replace stays until a person decides"""
        self.applied: list[Applied] = []
        self.rejected: list[Rejected] = []
        self.proposed: list[Proposal] = []
        self.do: list[Op] = []
        self.removed = self.removed_of_person = 0
        self._known = {
            texts: one
            for one in rules.proposals.values()
            if (texts := texts_of(one.op))
        }

    def take(self, ops: list[object]) -> None:
        waiting = list(ops)
        while waiting:
            pair = waiting[:2]
            if self.rules.kind == "rules" and archived_line(
                [op_of(said) for said in pair]
            ):
                del waiting[:2]
                self._archive(pair)
            else:
                self._take_one(waiting.pop(0))

    def _take_one(self, said: object) -> None:
        trial = apply_ops(self.doc, [said])
        self.rejected += trial.rejected
        for done in trial.applied:
            if done.outcome == "applied":
                self._decide(said, done, trial.doc)
            else:
                self._note(done, done.op)

    def _archive(self, pair: list[object]) -> None:
        """Move a rule to the archive: both ops are done, or none. Half of it would leave the rule twice, or nowhere."""
        removal, addition = sorted(
            pair, key=lambda said: not isinstance(op_of(said), Remove)
        )
        trial = apply_ops(self.doc, [removal, addition])
        if trial.rejected or trial.applied[0].outcome != "applied":
            self._take_one(removal)
            self._take_one(addition)
            return
        removed, added = trial.applied
        items = self._section(removed.op)
        targets = _targets(removed.op, items)
        exact = _exact(removed.op, targets, items)
        is_surplus = not self._rule_waits and targets[0] in surplus_rules(self.doc)
        verdict = _DO if is_surplus else self._judge(removed.op, exact, targets, items)
        if verdict.act != "do":
            self._decide(removal, removed, trial.doc)
            self.rejected.append(Rejected(addition, WAITS_FOR_REMOVAL))
            return
        self.doc = trial.doc
        self.ownership = self.ownership.after(
            map(as_done, trial.applied), source=self.rules.source
        )
        self._note(removed, exact)
        self._note(added, added.op)

    def brake(self, count: int) -> str:
        """Why the removals of this run are too many; empty when they are not.

        Of a short note the bot may always remove some of its own items: else it could not forget one of two.
        """
        of_few = (
            0 if self.removed_of_person else max(1, min(ALWAYS_REMOVABLE, count - 1))
        )
        if self.removed > max(of_few, MOST_OF_A_NOTE * count):
            return (
                f"the run would remove {self.removed} of {count} items"
                if self.removed
                else ""
            )
        if self.removed_of_person > MOST_OF_A_PERSON:
            return f"the run would remove {self.removed_of_person} items of a person"
        return ""

    def _decide(self, said: object, done: Applied, after: SectionedDoc) -> None:
        items = self._section(done.op)
        targets = _targets(done.op, items)
        exact = _exact(done.op, targets, items)
        verdict = self._judge(done.op, exact, targets, items)
        if verdict.act == "refuse":
            self.rejected.append(Rejected(said, verdict.reason))
        elif verdict.act == "propose" and verdict.op is not None:
            self._propose(said, verdict.op, verdict)
        else:
            if isinstance(done.op, Remove):
                self.removed += len(targets)
                self.removed_of_person += len(targets) - len(self._bots(targets, items))
            self.doc = after
            self.ownership = self.ownership.after(
                [as_done(done)], source=self.rules.source
            )
            self._note(done, exact)

    def _note(self, done: Applied, op: Op) -> None:
        self.applied.append(done)
        self.do.append(op)

    def _propose(self, said: object, op: Op, verdict: _Verdict) -> None:
        why = "; ".join(part for part in (self.rules.why, verdict.reason) if part)
        proposal = propose(self.rules.note, op, why, suspicious=verdict.suspicious)
        known = self.rules.proposals.get(proposal.id)
        if known is not None and known.state == "rejected":
            self.rejected.append(Rejected(said, REJECTED))
        elif all(proposal.id != other.id for other in self.proposed):
            self.proposed.append(
                known if known is not None and known.state == "open" else proposal
            )

    def _section(self, op: Op) -> list[NoteItem]:
        """The items among which an op takes one away or rewrites it."""
        at = (
            section_named(self.doc, op.heading)
            if isinstance(op, Remove | Replace)
            else None
        )
        return [] if at is None else section_items(self.doc, at)

    def _judge(
        self, op: Op, exact: Op, targets: list[NoteItem], items: list[NoteItem]
    ) -> _Verdict:
        lines = _lines(op)
        if any(self.ownership.deleted(self.doc, op.heading, line) for line in lines):
            return _Verdict("refuse", DELETED)
        known = self._proposed_before(exact)
        if known is not None and known.state == "rejected":
            return _Verdict("refuse", REJECTED)
        if known is not None and known.state == "open":
            return _Verdict(
                "propose", known.why, op_of(known.op) or exact, known.suspicious
            )
        texts = (*lines, op.heading) if isinstance(op, AddHeading) else lines
        if self.rules.source == "tool":
            if self._is_unsaid_rule(op, lines):
                self._rule_waits = True
                suspicious = any(map(shaped_like_instruction, texts))
                return _Verdict(
                    "propose",
                    LIKE_AN_INSTRUCTION if suspicious else UNSAID_RULE,
                    exact,
                    suspicious,
                )
        elif any(map(shaped_like_instruction, texts)):
            return _Verdict("propose", LIKE_AN_INSTRUCTION, exact, True)
        stranger = self._stranger(lines)
        if stranger:
            return _Verdict("propose", f"it comes from: {stranger}", exact)
        if (
            self.rules.kind == "rules"
            and isinstance(op, Remove | Replace)
            and is_archive(op.heading)
        ):
            return _Verdict("propose", ARCHIVE_IS_THE_PERSONS, exact)
        if self.held and isinstance(op, Remove):
            return _Verdict("propose", self.held, exact)
        if self._rule_waits and self.rules.kind == "rules" and isinstance(op, Remove):
            return _Verdict("propose", UNSAID_RULE, exact)
        if self.rules.human_items == "propose" and self._touches_a_person(
            op, targets, items
        ):
            return _Verdict("propose", "a person wrote the item", exact)
        if known is not None and known.state == "expired":
            return _Verdict("propose", known.why, exact, known.suspicious)
        return _DO

    def _is_unsaid_rule(self, op: Op, lines: tuple[str, ...]) -> bool:
        """Whether a tool would write a standing rule that its owner did not say in this session."""
        if isinstance(op, Append) and is_archive(op.heading) and not self._rule_waits:
            lines = tuple(
                line for line in lines if normalised(line) not in self._there
            )  # a rule that retires
        texts = [line for line in lines if not was_said(line, self.rules.said)]
        if isinstance(op, AddHeading) and not was_said(op.heading, self.rules.said):
            texts.append(op.heading)
        if not texts:
            return False
        if self.rules.kind == "rules" or (lines and is_rules_heading(op.heading)):
            return any(line in texts for line in lines)
        if any(map(reads_like_rule, texts)):
            return True
        return (
            len(texts) > 1 and reads_like_rule(" ".join(texts))
        ) or self._completes_rule(op, texts)

    def _completes_rule(self, op: Op, texts: list[str]) -> bool:
        """Whether an item is a rule together with the one before it, as a model would read both."""
        if not isinstance(op, Append):
            return False
        at = section_named(self.doc, op.heading)
        items = section_items(self.doc, at) if at is not None else []
        if not items or reads_like_rule(items[-1].text):
            return False
        return reads_like_rule(f"{parse_item(items[-1].text).text} {texts[0]}")

    def _proposed_before(self, op: Op) -> Proposal | None:
        """The proposal of this op, or one that was to write the same text."""
        same = self.rules.proposals.get(propose(self.rules.note, op, "").id)
        return same or (
            self._known.get(texts_of(op))
            if isinstance(op, Append | AddHeading)
            else None
        )

    def _stranger(self, lines: tuple[str, ...]) -> str:
        """Whose words these are, when they are not the owner's and the note is guarded."""
        if self.rules.kind not in GUARDED:
            return ""
        origins = [self.rules.origin, *(parse_item(line).origin for line in lines)]
        return next((origin for origin in origins if origin not in _OWNER), "")

    def _touches_a_person(
        self, op: Op, targets: list[NoteItem], items: list[NoteItem]
    ) -> bool:
        if isinstance(op, Replace):
            targets = targets[:1]
        bots = self._bots(targets, items)
        return len(bots) < len(targets) or (
            isinstance(op, Remove) and _has_more(self.doc, targets)
        )

    def _bots(self, targets: list[NoteItem], items: list[NoteItem]) -> list[NoteItem]:
        if not targets:
            return []
        own = set(self.ownership.bots_among(items))
        return [item for item in targets if item in own]


def why_stale(proposal: Proposal, doc: SectionedDoc) -> str:
    """Why a proposal can no longer be carried out on the note as it is; empty when it can."""
    outcome = apply_ops(doc, [dict(proposal.op)])
    if outcome.rejected:
        return _STALE.get(
            outcome.rejected[0].reason,
            f"it does not fit any more ({outcome.rejected[0].reason})",
        )
    done = outcome.applied[0]
    if (
        done.outcome == "applied"
        and isinstance(done.op, Remove | Replace)
        and not _names_whole(done.op, doc)
    ):
        return _STALE["noop_no_match"]
    if proposal.why == NO_LONGER_THERE and texts_of(proposal.op) <= {
        item.key[1] for item in items_of(doc)
    }:
        return _STALE["noop_dup"]
    return _STALE.get(done.outcome, "")


def _names_whole(op: Remove | Replace, doc: SectionedDoc) -> bool:
    """Whether the item that an op finds says what it names and no more: else somebody has written on since."""
    at = section_named(doc, op.heading)
    wanted = folded(op.match)
    return at is not None and any(
        folded(item.text) == wanted for item in section_items(doc, at)
    )


_STALE = {
    "noop_dup": "it is there already",
    "noop_no_match": "the item was changed or is gone",
    "multiple_matches": "several items say this now",
    "heading_missing": "the section is gone",
    "heading_exists": "there is such a section now",
}


def _lines(op: Op) -> tuple[str, ...]:
    """What an op would write."""
    match op:
        case Append(_, line) | Replace(_, _, line):
            return (line,)
        case AddHeading(_, lines):
            return lines
    return ()


def _targets(op: Op, items: list[NoteItem]) -> list[NoteItem]:
    """The item that an op means, and what is nested in it."""
    if not isinstance(op, Remove | Replace):
        return []
    wanted = folded(op.match)
    found = next(
        item
        for item in items
        if (wanted == folded(item.text) if op.exact else wanted in folded(item.text))
    )
    return [found, *(other for other in items if found.start < other.start < found.end)]


def _exact(op: Op, targets: list[NoteItem], items: list[NoteItem]) -> Op:
    """The op with all of the item's text in the place of a part: it shall not mean another item tomorrow."""
    if not isinstance(op, Remove | Replace) or op.exact:
        return op
    whole = replace(op, match=targets[0].text)
    wanted = folded(whole.match)
    once = sum(wanted in folded(item.text) for item in items) == 1
    return whole if once and op_of(as_json(whole)) is not None else op


def _has_more(doc: SectionedDoc, targets: list[NoteItem]) -> bool:
    """Whether an item holds text that is in no item's own lines: below something that is nested in it."""
    body, whole = doc.sections[targets[0].section].body, targets[0]
    starts = [*(item.start for item in targets[1:]), whole.end]
    return any(
        body[item.own_end : after].strip()
        for item, after in zip(targets, starts, strict=True)
    )
