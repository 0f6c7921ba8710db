"""Audit records: who changed which note, when and why. They can be shown, undone and replayed.

A record is one line of JSON in a file beside the note.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.edits.ops import Applied, Op, Rejected, as_json
from vault_memory.rules.edits.unified_diff import unified

if TYPE_CHECKING:
    from vault_memory.contract.edit_answers import (
        AuditRecordJson,
        RecordedOpJson,
        RecordedProposalJson,
        RejectedJson,
        TextOrBytes,
    )

BOT_SOURCES = frozenset({"nightly", "tool"})
"""Sources that are the bot, which policy binds; every other source acts for a person"""
SOURCES = tuple("nightly tool cli inbox undo forget retention proposal merge talk".split())
STATES = ("open", "stale", "approved", "rejected", "expired")


@dataclass(frozen=True, slots=True)
class RecordedOp:
    """An applied op in an audit record."""

    op: Mapping[str, object]
    """its JSON; of an undo ``{"op": "undo", "of": OP}``"""
    outcome: str
    removed: bytes = b""
    """the bytes that it removed or replaced"""
    added: bytes = b""
    """the bytes that it added, where the op does not have them: of an undo"""
    remark: str = ""

    def as_json(self) -> "RecordedOpJson":
        """Returns its entry in the record."""
        entry: RecordedOpJson = {"op": dict(self.op), "outcome": self.outcome}
        if self.removed:
            entry["removed"] = packed(self.removed)
        if self.added:
            entry["added"] = packed(self.added)
        if self.remark:
            entry["remark"] = self.remark
        return entry


@dataclass(frozen=True, slots=True)
class Proposal:
    """An op that waits for a person's approval, or the decision about it."""

    id: str
    """computed from the op and the note: the same every night and on every device"""
    note: str
    op: Mapping[str, object]
    why: str = ""
    state: str = "open"
    ts: str = ""
    """when its state was last recorded"""
    reason: str = ""
    """why it is no longer open"""
    suspicious: bool = False
    """its text is shaped like an instruction to the bot"""

    def as_json(self) -> "RecordedProposalJson":
        """Returns its entry in the record."""
        entry: RecordedProposalJson = {
            "id": self.id,
            "op": dict(self.op),
            "why": self.why,
            "state": self.state,
        }
        if self.reason:
            entry["reason"] = self.reason
        if self.suspicious:
            entry["suspicious"] = True
        return entry


@dataclass(frozen=True, slots=True)
class Record:
    """A run on one note: its applied, rejected and proposed ops."""

    id: str
    """sorts by time"""
    ts: str
    """ISO 8601 with offset"""
    user_id: str
    source: str
    note: str
    applied: tuple[RecordedOp, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    proposed: tuple[Proposal, ...] = ()
    before: str = ""
    """SHA-256 of the note; empty when there was none"""
    after: str = ""
    diff: bytes = b""
    why: str = ""
    undoes: str = ""
    """the id of the record that this one undid"""
    redacted: bool = False
    """texts were removed from it by `forget`"""
    device: str = ""
    """the device that wrote it"""
    folded: tuple[str, ...] = ()
    """of a record that was shortened because it is old: its id, after those of older records of
    which nothing is left"""

    @property
    def by_bot(self) -> bool:
        """Whether the bot did it, and not a person"""
        return self.source in BOT_SOURCES

    def as_json(self) -> "AuditRecordJson":
        """Returns the object for its line; values that JSON cannot hold are converted."""
        entry: AuditRecordJson = {
            "id": self.id,
            "ts": self.ts,
            "user_id": self.user_id,
            "source": self.source,
            "note": self.note,
            "applied": [op.as_json() for op in self.applied],
            "rejected": [_rejected_json(op) for op in self.rejected],
            "before": self.before,
            "after": self.after,
            "diff": packed(self.diff),
            "why": self.why,
        }
        if self.proposed:
            entry["proposed"] = [proposal.as_json() for proposal in self.proposed]
        if self.undoes:
            entry["undoes"] = self.undoes
        if self.redacted:
            entry["redacted"] = True
        if self.device:
            entry["device"] = self.device
        if self.folded:
            entry["folded"] = list(self.folded)
        plain_entry = {key: plain(value, longest=0) for key, value in entry.items()}
        # The conversion keeps the keys, and changes only what JSON cannot hold.
        return cast("AuditRecordJson", plain_entry)


def revision(raw: bytes | None) -> str:
    """Returns the SHA-256 of a note's bytes; ``""`` for no note."""
    return "" if raw is None else sha256(raw).hexdigest()


def record_run(
    head: Record,
    *,
    before: bytes | None,
    after: bytes | None,
    applied: Iterable[Applied | RecordedOp] = (),
    rejected: Iterable[Rejected] = (),
    proposed: Iterable[Proposal] = (),
) -> Record:
    """Returns the record of a run that changed a note from `before` to `after`.

    `head` is the record without the ops: who changed which note, when and why.
    """
    recorded_ops = (op if isinstance(op, RecordedOp) else as_done(op) for op in applied)
    return replace(
        head,
        applied=tuple(recorded_ops),
        rejected=tuple(rejected),
        proposed=tuple(replace(proposal, ts=head.ts) for proposal in proposed),
        before=revision(before),
        after=revision(after),
        diff=unified(before or b"", after or b"", head.note),
    )


def as_done(applied: Applied) -> RecordedOp:
    """Returns an applied op in the form of the audit."""
    return RecordedOp(as_json(applied.op), applied.outcome, applied.removed, remark=applied.remark)


class Position(NamedTuple):
    """The place of a record among those of all audit files. Records sort by it."""

    moment: datetime
    """the latest time of its device so far in its file"""
    id: str
    """the greatest id of its device at that time so far in its file"""
    file: str
    run: int
    """the number of its device among those of the file"""


class TimedRecord(NamedTuple):
    """A record with its position."""

    position: Position
    record: Record


def union(*files: Iterable[Record]) -> tuple[Record, ...]:
    """Merges the records of several devices' files by time, each once.

    Of two forms of a record a redacted one wins, then a folded one. Records of a device keep their
    order in a file, even when the clock of the device jumped.
    """
    timed = [
        record
        for number, file in enumerate(files)
        for record in timed_records(file, f"{number:08}")
    ]
    return unite(in_order(timed))


def timed_records(
    records: Iterable[Record], file: str, earlier: Iterable[TimedRecord] = ()
) -> list[TimedRecord]:
    """Returns records of one file with their positions; `earlier` are those before them in the file."""
    latest = {timed.record.device: timed.position for timed in earlier}
    result = []
    for record in records:
        moment, record_id, run = moment_of(record.ts), record.id, len(latest)
        previous = latest.get(record.device)
        if previous is not None:
            # A clock that was set back must not move a record before an older one.
            moment = max(moment, previous.moment)
            moment, record_id = max((moment, record_id), previous[:2])
            run = previous.run
        position = Position(moment, record_id, file, run)
        latest[record.device] = position
        result.append(TimedRecord(position, record))
    return result


def in_order(records: Iterable[TimedRecord]) -> list[TimedRecord]:
    """Returns the records of several files by time. Those of one file are in their order already."""
    return sorted(records, key=itemgetter(0))


def unite(records: Iterable[TimedRecord]) -> tuple[Record, ...]:
    """Returns each record once, at its first position. `records` are in order."""
    by_id: dict[str, Record] = {}
    absorbed: set[str] = set()
    for _, record in records:
        previous = by_id.setdefault(record.id, record)
        if previous is not record and _weight(record) > _weight(previous):
            by_id[record.id] = record
        if record.folded:
            absorbed.update(record.folded[:-1])
    # Fault: a sync program merged a file with an older copy of it. What was folded into
    # another record is there in full again.
    for record_id in absorbed:
        by_id.pop(record_id, None)
    return tuple(by_id.values())


def _weight(record: Record) -> tuple[bool, bool]:
    return record.redacted, bool(record.folded)


def proposals_of(records: Iterable[Record]) -> dict[str, Proposal]:
    """Returns all proposals in their latest state, by id; `records` are in the order of time."""
    by_id: dict[str, Proposal] = {}
    for record in records:
        for proposal in record.proposed:
            previous = by_id.get(proposal.id)
            if previous is not None:
                proposal = _with_previous(proposal, previous)
            if proposal.op:
                by_id[proposal.id] = proposal
    return by_id


def known_proposals(records: Iterable[Record], note: str) -> dict[str, Proposal]:
    """Returns all proposals of a note as `proposals_of` does, and also by the ids they would get now.

    The note may have had another name when they were made.
    """
    by_id = proposals_of(records)
    renamed = {proposal_id(note, each.op): each for each in by_id.values()}
    return renamed | by_id


def _with_previous(proposal: Proposal, previous: Proposal) -> Proposal:
    """Returns a later state of a proposal, which may leave out what was recorded before."""
    return replace(
        proposal,
        op=proposal.op or previous.op,
        note=proposal.note or previous.note,
        why=proposal.why or previous.why,
        suspicious=proposal.suspicious or previous.suspicious,
    )


def propose(note: str, op: Op, why: str, *, suspicious: bool = False) -> Proposal:
    """Returns a proposal to apply an op to a note."""
    fields = as_json(op)
    return Proposal(proposal_id(note, fields), note, fields, why, suspicious=suspicious)


def proposal_id(note: str, fields: Mapping[str, object]) -> str:
    """Returns the id of a proposal, from its note and the JSON of its op."""
    return short_hash(note, json.dumps(dict(fields), sort_keys=True))


def _rejected_json(rejected: Rejected) -> "RejectedJson":
    entry: RejectedJson = {"op": plain(rejected.op), "reason": rejected.reason}
    if rejected.headings:
        entry["headings"] = list(rejected.headings)
    return entry


def moment_of(ts: str) -> datetime:
    """Returns a time in UTC; an unreadable time sorts first."""
    try:
        moment = datetime.fromisoformat(ts)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)


LONGEST = 2_000
"""In characters, of a text in a value"""
DEEPEST = 8


def plain(value: object, *, longest: int = LONGEST, depth: int = 0) -> object:
    """Returns a value that JSON can hold; texts are cut to `longest` characters, 0 cuts none."""
    if isinstance(value, str):
        # A record has many short texts in ASCII, and each stays as it is.
        if value.isascii() and (not longest or len(value) <= longest):
            return value
        return _plain_text(value, longest)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _plain_number(value)
    return _plain_container(value, longest, depth)


def _plain_container(value: object, longest: int, depth: int) -> object:
    """Returns an op, a mapping or a sequence; of any other value only the name of its type."""
    if isinstance(value, Op):
        value = as_json(value)
    # Fault: a value that contains itself has no end.
    if depth >= DEEPEST:
        return _plain_text(type(value).__name__, longest)
    if isinstance(value, Mapping):
        return {
            str(plain(key)): plain(item, longest=longest, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item, longest=longest, depth=depth + 1) for item in value]
    return type(value).__name__


def _plain_number(value: float) -> object:
    if isinstance(value, int):
        # Many JSON readers lose digits of larger numbers.
        is_exact = abs(value) < 2**63
        return value if is_exact else hex(value)[:80]
    # Infinity and NaN have no JSON form.
    return value if isfinite(value) else repr(value)


def _plain_text(value: str, longest: int) -> str:
    text = value
    # Half of a surrogate pair has no UTF-8 form. Most texts are ASCII, which has none.
    if not value.isascii():
        text = value.encode("utf-8", "replace").decode()
    if not longest or len(text) <= longest:
        return text
    return text[:longest] + "…"


def packed(raw: bytes) -> "TextOrBytes":
    """Returns UTF-8 bytes as text, other bytes as an object with base64."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def unpacked(value: object) -> bytes:
    """Returns the bytes of a packed value; ``b""`` for any other value."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    encoded = value.get("base64") if isinstance(value, Mapping) else None
    if not isinstance(encoded, str):
        return b""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""
