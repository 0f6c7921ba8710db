"""What a run would do to a note as it is now. Pure but for what it is given to look things up with.

The same function is asked before the write, again for the text that somebody saved meanwhile, and once more after a
crash, for the record that was not yet written: so the record always tells what was done.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import (
    BOT_SOURCES,
    Proposal,
    Record,
    RecordedOp,
    proposals_of,
    record_run,
)
from vault_memory.rules.edits.ops import Applied, Op, Outcome, Rejected, as_json
from vault_memory.rules.edits.ownership import Ownership, replay
from vault_memory.rules.edits.undo import NotUndoable, undo
from vault_memory.vault.snapshots import revision_of

if TYPE_CHECKING:
    from vault_memory.edits.plans import (
        edit_text,
        fact_edits,
        merge_copy,
        move_sections,
    )
    from vault_memory.markdown.merging import three_way
    from vault_memory.rules.edits import policy, rebase, stale_proposal, stale_save
else:
    edit_text = lazy_module("vault_memory.edits.plans.edit_text")
    fact_edits = lazy_module("vault_memory.edits.plans.fact_edits")
    merge_copy = lazy_module("vault_memory.edits.plans.merge_copy")
    move_sections = lazy_module("vault_memory.edits.plans.move_sections")
    three_way = lazy_module("vault_memory.markdown.merging.three_way")
    policy = lazy_module("vault_memory.rules.edits.policy")
    rebase = lazy_module("vault_memory.rules.edits.rebase")
    stale_proposal = lazy_module("vault_memory.rules.edits.stale_proposal")
    stale_save = lazy_module("vault_memory.rules.edits.stale_save")

NOTHING = revision_of(b"")
FORGET = "forget"
"""The source of runs that take a text out; the text is told to none of them"""
RETENTION = "retention"
"""The source of runs that throw a note away because of its age"""


@dataclass(frozen=True, slots=True)
class EditCommand:
    """What is asked of one note: ops, to take back a record, to bring back a version, or to decide proposals."""

    id: str
    """of the record that it will have"""
    ts: str
    """ISO 8601 with offset"""
    note: str
    kind: str
    source: str
    user_id: str = ""
    why: str = ""
    origin: str = "owner"
    """whose words the ops go back to"""
    ops: tuple[object, ...] = ()
    as_text: bool = False
    """its one op edits the text as such; see `texts`"""
    undoes: str = ""
    """the id of a record"""
    restores: str = ""
    """a revision"""
    decides: tuple[tuple[str, str, str], ...] = ()
    """of proposals for this note: id, what becomes of it, why"""
    rejoins: tuple[str, str, str] | None = None
    """revisions: what somebody had loaded, what stood there when they saved, and what they saved"""
    facts: tuple[Mapping[str, Any], ...] = ()
    """changes of a page of facts, worked out anew on each text of it; see `knowing`"""
    moves: tuple[tuple[str, str, str], ...] = ()
    """whole sections, as text, each with the note that it leaves and the one that it comes to; see `moving`"""
    folds: tuple[str, ...] = ()
    """of a conflict copy: path, revision, that of the version both go back to, day, `clean` or `both`"""
    said: tuple[str, ...] = ()
    """keys of what the owner says in this session, for a rule that a tool asks for; see `standing_rules`"""

    def as_bytes(self) -> bytes:
        """For the journal, which hands it back after a crash."""
        said = asdict(
            replace(
                self,
                ops=tuple(as_json(op) if isinstance(op, Op) else op for op in self.ops),
            )
        )
        return json.dumps(said, default=repr, skipkeys=True).encode()

    @classmethod
    def read(cls, raw: bytes) -> "EditCommand | None":
        """A run from the journal; None when it is none that this version knows."""
        try:
            said: dict[str, Any] = json.loads(raw)
            known = {
                field.name: said[field.name]
                for field in fields(cls)
                if field.name in said
            }
            decides = tuple(
                (one, state, reason) for one, state, reason in known.get("decides", ())
            )
            rejoins = tuple(known["rejoins"]) if known.get("rejoins") else None
            moves = tuple(
                (text, from_, to) for text, from_, to in known.get("moves", ())
            )
            known |= {
                name: tuple(known.get(name, ()))
                for name in ("ops", "folds", "facts", "said")
            }
            return cls(
                **known | {"decides": decides, "rejoins": rejoins, "moves": moves}
            )
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """Where a plan looks things up."""

    records: Callable[[str], tuple[Record, ...]]
    """of one note, the oldest first"""
    bytes_of: Callable[[str | None], bytes | None]
    """of a revision, when they are kept"""
    human_items: Literal["propose", "edit"] = "propose"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does to a note."""

    before: bytes | None
    """None: there is no note"""
    after: bytes | None
    """None: there is no note, or no more"""
    applied: tuple[Applied | RecordedOp, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    proposed: tuple[Proposal, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything is to be written."""
        return self.before != self.after

    def record(self, run: EditCommand, after: bytes | None) -> Record:
        """For the audit; `after` is what really stands there now."""
        return record_run(
            id=run.id,
            ts=run.ts,
            user_id=run.user_id,
            source=run.source,
            note=run.note,
            before=self.before,
            after=after,
            applied=self.applied,
            rejected=self.rejected,
            proposed=self.proposed,
            why=run.why,
            undoes=run.undoes,
        )


@dataclass(frozen=True, slots=True)
class RedactionPlan(Plan):
    """Of a run that took a text out: neither what went nor what stood there before is told."""

    def record(self, run: EditCommand, after: bytes | None) -> Record:
        """For the audit."""
        applied = (
            tuple(done for done in self.applied if isinstance(done, RecordedOp))
            if after != self.before
            else ()
        )
        stands = "" if after is None else revision_of(after)
        return Record(
            run.id,
            run.ts,
            run.user_id,
            run.source,
            run.note,
            applied,
            after=stands,
            redacted=True,
        )


def plan_run(
    run: EditCommand,
    before: bytes | None,
    known: PlanInputs,
    *,
    base: bytes | None = None,
) -> Plan:
    """What the run does to a note of these bytes; `base` are those that its ops were thought of for, if others.

    Raises NotUndoable.
    """
    if run.source == FORGET:
        return RedactionPlan(
            before,
            before,
            tuple(RecordedOp({"op": FORGET}, "applied") for _ in run.ops),
        )
    if run.source == RETENTION:
        return Plan(
            before,
            None,
            () if before is None else (RecordedOp({"op": "retire"}, "applied"),),
        )
    if run.undoes:
        return _plan_undo(run, before, known)
    if run.restores:
        return _plan_restore(run, before, known)
    if run.decides:
        return _plan_decisions(run, before, known)
    if run.rejoins is not None:
        return _plan_rejoin(run, run.rejoins, before, known)
    if run.folds:
        return merge_copy.plan_folding(run, before, known)
    if run.moves:
        return move_sections.plan_moving(run, before)
    if run.as_text:
        return edit_text.plan_text(run, before, known)
    if run.facts:
        return fact_edits.plan_facts(run, before, known)
    return _plan_ops(run, before, known, base)


def _plan_ops(
    run: EditCommand, before: bytes | None, known: PlanInputs, base: bytes | None
) -> Plan:
    ops: tuple[object, ...] = run.ops
    asked: tuple[Proposal, ...] = ()
    if base is not None and base != before:
        newer = parse(before or b"")
        of_bot = replay(known.records(run.note)).bots_among(items_of(newer))
        fit = rebase.rebase_ops(
            ops,
            parse(base),
            newer,
            run.note,
            by_bot=run.source in BOT_SOURCES,
            of_bot=of_bot,
        )
        ops, asked = fit.ops, fit.proposed
    outcome, proposed = by_policy(run, before, ops, known)
    did = any(done.outcome == "applied" for done in outcome.applied)
    after = render(outcome.doc) if did else before
    return Plan(before, after, outcome.applied, outcome.rejected, (*asked, *proposed))


def by_policy(
    run: EditCommand, before: bytes | None, ops: tuple[object, ...], known: PlanInputs
) -> tuple[Outcome, tuple[Proposal, ...]]:
    """The ops carried out as far as whoever asks for them may do that; the rest is refused or proposed."""
    doc = parse(before or b"")
    if run.source not in BOT_SOURCES:
        return apply_ops(doc, ops), ()
    records = known.records(run.note)
    rules = policy.Rules(
        run.source,
        run.note,
        run.kind,
        replay(records),
        known.human_items,
        run.origin,
        proposals_of(records),
        run.why,
        frozenset(run.said),
    )
    decision = policy.decide(doc, ops, rules)
    return decision.outcome, decision.proposed


def _plan_restore(run: EditCommand, before: bytes | None, known: PlanInputs) -> Plan:
    after = known.bytes_of(run.restores)
    done = RecordedOp(
        {"op": "restore", "revision": run.restores},
        "noop_dup" if after == before else "applied",
    )
    return Plan(before, after, (done,))


def _plan_decisions(run: EditCommand, before: bytes | None, known: PlanInputs) -> Plan:
    """What was approved is done, if it still can be; what was not is only recorded."""
    waiting = {
        one.id: one
        for one in proposals_of(known.records(run.note)).values()
        if one.state == "open"
    }
    doc = parse(before or b"")
    applied: list[Applied] = []
    decided: list[Proposal] = []
    for proposal_id, state, reason in run.decides:
        proposal = waiting.pop(proposal_id, None)
        if proposal is None:
            continue
        if state == "approved":
            outcome = apply_ops(doc, [dict(proposal.op)])
            stale = stale_proposal.why_stale(proposal, doc)
            if stale and not any(one.outcome == "noop_dup" for one in outcome.applied):
                state, reason = "stale", stale
            else:
                doc, applied = outcome.doc, [*applied, *outcome.applied]
        decided.append(replace(proposal, state=state, reason=reason))
    did = any(done.outcome == "applied" for done in applied)
    return Plan(
        before, render(doc) if did else before, tuple(applied), (), tuple(decided)
    )


def _plan_rejoin(
    run: EditCommand,
    versions: tuple[str, str, str],
    before: bytes | None,
    known: PlanInputs,
) -> Plan:
    """What was saved, as it would be had its author known of what stood there; what that still lacks is proposed."""
    loaded, stood, saved = (known.bytes_of(revision) for revision in versions)
    if before is None or stood is None or saved is None:
        return Plan(before, before)
    owned = replay(known.records(run.note))
    for base in (loaded, _common_lines(loaded or b"", stood)):
        after: bytes | None = three_way.merge(base, stood, saved).result
        if after is not None and before != saved:
            after = three_way.merge(saved, after, before).result
        if after is not None and not _takes_away(before, after, owned):
            break
    else:
        after = before
    records = known.records(run.note)
    bots = owned.bots_among(items_of(parse(stood)))
    renamed = _renamed(bots, items_of(parse(after or b"")))
    done = RecordedOp(
        {
            "op": "merge",
            "loaded": versions[0],
            "saved": versions[2],
            **({"renamed": renamed} if renamed else {}),
        },
        "noop_dup" if after == before else "applied",
    )
    return Plan(
        before,
        after,
        (done,),
        proposed=stale_save.propose_missing(run.note, bots, after, records),
    )


def _renamed(bots: Sequence[NoteItem], now: Sequence[NoteItem]) -> dict[str, str]:
    """Under which names of sections items of the bot stand now that stood under others."""
    here = {item.key for item in now}
    there = {item.key[1]: item.heading for item in now}
    return {
        item.heading: there[item.key[1]]
        for item in bots
        if item.key not in here and item.key[1] in there
    }


def _common_lines(one: bytes, other: bytes) -> bytes:
    """The lines of the one that the other has, too: so that what the other lacks is not taken for deleted by it."""
    there = {line.rstrip() for line in other.splitlines()}
    return b"".join(
        line for line in one.splitlines(keepends=True) if line.rstrip() in there
    )


def _takes_away(before: bytes, after: bytes, owned: Ownership) -> bool:
    """Whether an item that a person saved is there no more: half a save may have stood there before."""
    items = items_of(parse(before))
    bots = set(owned.bots_among(items))
    left = Counter(item.key[1] for item in items_of(parse(after)))
    return bool(Counter(item.key[1] for item in items if item not in bots) - left)


def _plan_undo(run: EditCommand, before: bytes | None, known: PlanInputs) -> Plan:
    record = next(
        (record for record in known.records(run.note) if record.id == run.undoes), None
    )
    if record is None:
        raise NotUndoable(
            f"there is no record {run.undoes} any more",
            hint="`vault-memory log` lists those there are",
        )
    if before is None and not record.after:
        record = replace(record, after=NOTHING)
    now = before or b""
    versions = _versions(record, known)
    try:
        undone = undo(record, now)
    except NotUndoable:
        if record.redacted or versions is None or not record.diff:
            raise
        undone = None
    if undone is not None and undone.exact:
        return Plan(
            before,
            undone.raw if record.before else None,
            undone.applied or _all_of(record, True),
        )
    merged = None
    asked: tuple[Proposal, ...] = ()
    if versions is not None:
        older, newer = versions
        joined = three_way.merge(newer, older, now)
        merged, asked = (
            joined.result,
            rebase.proposals_for_conflicts(
                joined.conflicts, run.note, f"undo of {record.id}"
            ),
        )
    if undone is None:
        raw = now if merged is None else merged
        return Plan(before, raw, _all_of(record, raw != now), (), asked)
    if merged is None or merged == now:
        merged = undone.raw
    return Plan(
        before,
        merged if before is not None or merged else None,
        undone.applied,
        (),
        undone.proposed,
    )


def _versions(record: Record, known: PlanInputs) -> tuple[bytes, bytes] | None:
    """The note before and after a record, when both are kept."""
    older = known.bytes_of(record.before) if record.before else b""
    newer = known.bytes_of(record.after) if record.after else b""
    return None if older is None or newer is None else (older, newer)


def _all_of(record: Record, did: bool) -> tuple[RecordedOp, ...]:
    """Of a record that was taken back as a whole."""
    return tuple(
        RecordedOp(
            {"op": "undo", "of": dict(done.op)}, "applied" if did else "noop_no_match"
        )
        for done in record.applied
        if done.outcome == "applied"
    )
