"""Folds old audit records: what later edits need of them stays, and the rest goes. Pure.

A folded record has the ops, proposals and lines about texts that still matter: texts that the note
has, that the bot wrote and a person deleted, or that another record names. It keeps its id, time,
author and supports. A record of which nothing is left goes, and the next folded record of its file
lists its id. So a replay of folded records gives the same owners, tombstones, supports and
proposals as before, in whatever order the records of two devices meet.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, filterfalse, takewhile
from operator import attrgetter

from vault_memory.markdown.document import parse
from vault_memory.markdown.items import normalised_text
from vault_memory.markdown.note_items import items_of, text_of, texts_in
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import (
    Proposal,
    Record,
    RecordedOp,
    moment_of,
    proposals_of,
)
from vault_memory.rules.edits.blame import bots_lines, changed_lines
from vault_memory.rules.edits.ops import (
    AddHeading,
    Append,
    Rejected,
    Remove,
    Replace,
    as_json,
    op_of,
)
from vault_memory.rules.edits.ownership import (
    DELETED,
    listed_keys,
    mentioned_texts,
    replay,
    texts_of,
)
from vault_memory.rules.edits.skipped_duplicates import is_skip, skips_of, undone_ids
from vault_memory.rules.edits.unified_diff import hunks_of, lines_of

_WAITING = frozenset({"open", "stale"})
"""States of a proposal that a person may still decide"""
_MARK = "unclear:"
"""Begins the mark of a line about which a person is asked, and must not be asked twice"""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """Which records of a note are folded, and which of their texts still matter."""

    ids: frozenset[str]
    """of the records to fold"""
    has_new: bool
    """whether one of them is not folded yet"""
    texts: frozenset[str]
    """normalised texts of items"""
    lines: frozenset[bytes]
    """stripped lines"""
    proposals: Mapping[str, Proposal]
    """in their latest state, by id"""
    settled: frozenset[str]
    """ids of records that are folded with all undos of them, and all undos of those"""
    undone: frozenset[str]
    """ids of settled records that are undone"""


def plan_fold(records: Sequence[Record], device: str, until: datetime, note: bytes) -> FoldPlan:
    """Returns the plan for the records of one note; `note` is its text now.

    Only records of this device up to a moment are folded.
    """
    old = _old_records(records, device, until)
    ids = frozenset(record.id for record in old)
    ownership = replay(tuple(records))
    texts = {item.key[1] for item in items_of(parse(note))} | ownership.texts
    lines = {*map(bytes.strip, lines_of(note)), *+bots_lines(records)}
    for record in records:
        if record.id in ids:
            texts.update(_marked_texts(record))
        else:
            texts |= _texts_in(record)
            lines.update(*changed_lines(record.diff))
    settled = _settled_ids(records, ids)
    return FoldPlan(
        ids,
        not all(map(attrgetter("folded"), old)),
        _with_inseparable(texts, old),
        frozenset(lines),
        proposals_of(records),
        settled,
        undone_ids(records) & settled,
    )


def fold_lines(raw: bytes, plan: FoldPlan) -> bytes:
    """Returns an audit file of the note with its old records folded. Other lines stay as they are."""
    lines = raw.split(b"\n")
    records = list(map(read_line, lines))
    # Fault: a sync program merged a file with an older copy of it. A record that was
    # folded into another one is there in full again.
    absorbed = _absorbed_ids(filter(None, records))
    folded_lines: list[bytes] = []
    carrier = Record("", "", "", "", "")
    position = 0
    for line, record in zip(lines, records, strict=True):
        if record is None or record.id not in plan.ids:
            folded_lines.append(line)
        elif record.id not in absorbed:
            ids = carrier.folded + (record.folded or (record.id,))
            carrier = replace(fold_record(record, plan), folded=ids)
            position = len(folded_lines)
            if not _is_empty(carrier):
                folded_lines.append(_dump(carrier))
                carrier = replace(carrier, folded=())
    # The last record stays in any case: it lists the ids of those before it.
    if carrier.folded:
        folded_lines.insert(position, _dump(carrier))
    return b"\n".join(folded_lines)


def fold_record(record: Record, plan: FoldPlan) -> Record:
    """Returns a record without what no later edit needs."""
    is_settled = record.undoes in plan.settled or record.id in plan.undone
    applied = record.applied
    if is_settled:
        skips = skips_of(record)
        applied = tuple(op for op in applied if op not in skips)
    shortened = (_shorten(op, plan.texts) for op in applied)
    is_proof = partial(_buries, texts=plan.texts, by_bot=record.by_bot)
    return replace(
        record,
        applied=tuple(filter(None, shortened)),
        rejected=tuple(filter(is_proof, record.rejected)),
        proposed=tuple(_shorten_proposal(item, plan) for item in record.proposed),
        diff=_shorten_diff(record.diff, plan),
        why="",
        undoes="" if is_settled else record.undoes,
    )


# --- Which records and texts ------------------------------------------------------------------


def _old_records(records: Iterable[Record], device: str, until: datetime) -> list[Record]:
    """Returns the first records of a device, up to the first one that is not old."""
    own = (record for record in records if record.device == device)
    # Fault: the clock of the device was set back. Records after a younger one are
    # younger, too.
    return list(takewhile(lambda record: moment_of(record.ts) <= until, own))


def _texts_in(record: Record) -> frozenset[str]:
    """Returns the normalised texts of all items that a record names."""
    ops = map(attrgetter("op"), (*record.rejected, *record.proposed))
    return frozenset().union(*map(mentioned_texts, record.applied), *map(texts_of, ops))


def _with_inseparable(texts: Set[str], records: Sequence[Record]) -> frozenset[str]:
    """Returns the texts with those that share bytes with them.

    Bytes of an op stay as they are, with all their items. So the later records about each of these
    items have to stay, too.
    """
    texts = set(texts)
    ops = chain.from_iterable(map(attrgetter("applied"), records))
    groups = list(chain.from_iterable(map(_inseparable, ops)))
    size = -1
    while size < len(texts):
        size = len(texts)
        texts.update(*filterfalse(texts.isdisjoint, groups))
    return frozenset(texts)


def _inseparable(applied: RecordedOp) -> Iterator[frozenset[str]]:
    """Yields the texts of an op that stay together or go together."""
    for raw in filter(None, (applied.removed, applied.added)):
        yield frozenset(map(normalised_text, texts_in(raw)))
    op = op_of(applied.op)
    if isinstance(op, AddHeading):
        yield texts_of(op)


def _marked_texts(record: Record) -> Iterator[str]:
    """Yields the texts of lines with a mark of a contradiction."""
    for applied in record.applied:
        if _MARK in str(applied.op):
            yield from mentioned_texts(applied)


def _settled_ids(records: Sequence[Record], ids: Set[str]) -> frozenset[str]:
    """Returns the ids of old records of which no undo can take back or bring back anything."""
    settled = set(ids)
    # An undo comes after what it undoes.
    for record in reversed(records):
        if record.id not in settled:
            settled.discard(record.undoes)
    return frozenset(settled)


# --- What stays of a record -------------------------------------------------------------------


def _shorten(applied: RecordedOp, texts: Set[str]) -> RecordedOp | None:
    """Returns an op without the texts that matter no more; None when nothing of it matters."""
    if is_skip(applied):
        return applied
    # The new names of sections follow from no text.
    if "renamed" in applied.op:
        return applied
    if texts.isdisjoint(mentioned_texts(applied)):
        return None
    removed = _if_named(applied.removed, texts)
    added = _if_named(applied.added, texts)
    op = _shorten_op(applied.op, texts, removed)
    return replace(applied, op=op, removed=removed, added=added)


def _shorten_op(op: Mapping[str, object], texts: Set[str], removed: bytes) -> Mapping[str, object]:
    undone = op.get("of")
    if op.get("op") == "undo" and isinstance(undone, Mapping):
        # The bytes of an undo say what it changed.
        fields = {"op": undone.get("op"), "heading": undone.get("heading")}
        return {"op": "undo", "of": fields}
    if "wrote" in op:
        took = _pairs(op.get("took"), texts)
        return {"op": op.get("op"), "took": took, "wrote": _pairs(op["wrote"], texts)}
    replacement = op_of(op)
    if not isinstance(replacement, Replace):
        return op
    # Half of a replacement stays as an op of its own.
    if not removed:
        return as_json(Append(replacement.heading, replacement.line))
    if texts.isdisjoint(texts_of(op)):
        return as_json(Remove(replacement.heading, texts_in(removed)[0], exact=True))
    return op


def _if_named(raw: bytes, texts: Set[str]) -> bytes:
    """Returns bytes of a note if they have an item whose text matters; else nothing."""
    is_relevant = not texts.isdisjoint(map(normalised_text, texts_in(raw)))
    return raw if is_relevant else b""


def _pairs(value: object, texts: Set[str]) -> list[Sequence[str]]:
    """Returns the pairs of heading and text that matter."""
    return [key for key in sorted(listed_keys(value)) if key[1] in texts]


def _buries(rejected: Rejected, *, texts: Set[str], by_bot: bool) -> bool:
    """Whether a refused op shows that a person deleted a text."""
    is_proof = by_bot and rejected.reason == DELETED
    return is_proof and not texts.isdisjoint(texts_of(rejected.op))


def _shorten_proposal(proposal: Proposal, plan: FoldPlan) -> Proposal:
    """Returns a proposal; of a decided one about a text that matters no more only the decision."""
    latest = plan.proposals.get(proposal.id, proposal)
    is_needed = not plan.texts.isdisjoint(texts_of(proposal.op))
    if latest.state in _WAITING or is_needed or not proposal.op:
        return proposal
    name = proposal.op.get("op")
    return replace(proposal, op={"op": name}, why="", reason="")


def _shorten_diff(diff: bytes, plan: FoldPlan) -> bytes:
    """Returns a diff of the lines that matter, without the lines around them."""
    rows: dict[bytes, list[bytes]] = {b"-": [], b"+": [], b" ": []}
    hunks = map(attrgetter("rows"), hunks_of(diff))
    for sign, line in chain.from_iterable(hunks):
        if line.strip() in plan.lines or normalised_text(text_of(line)) in plan.texts:
            rows[sign].append(sign + line.rstrip(b"\n") + b"\n")
    counts = len(rows[b"-"]), len(rows[b"+"])
    if not any(counts):
        return b""
    head = b"@@ -1,%d +1,%d @@\n" % counts
    return head + b"".join((*rows[b"-"], *rows[b"+"]))


# --- Lines of a file --------------------------------------------------------------------------


def _absorbed_ids(records: Iterable[Record]) -> frozenset[str]:
    """Returns the ids of records that were folded into another one."""
    return frozenset().union(*(record.folded[:-1] for record in records))


def _is_empty(record: Record) -> bool:
    """Whether a folded record says nothing but its id."""
    content = (record.applied, record.rejected, record.proposed, record.diff)
    return not any(content) and not record.undoes


def _dump(record: Record) -> bytes:
    try:
        text = json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except UnicodeEncodeError:
        # Fault (C58): half of a surrogate pair has no UTF-8 form, only an escape.
        return json.dumps(record.as_json(), separators=(",", ":")).encode()
