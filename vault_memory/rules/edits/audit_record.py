"""The audit: who changed which note, when and why, so that it can be shown, taken back, and replayed.

A record is one line of JSON in a file beside the note.
"""

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain

from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.edits.json_safe import packed, plain
from vault_memory.rules.edits.ops import Applied, Op, Outcome, Rejected, as_json
from vault_memory.rules.edits.unified_diff import unified

BOT_SOURCES = frozenset({"nightly", "tool"})
"""Whose writing is the bot's, and bound by policy; what any other source writes is a person's."""
SOURCES = (
    "nightly",
    "tool",
    "cli",
    "inbox",
    "undo",
    "forget",
    "retention",
    "proposal",
    "merge",
    "talk",
)
STATES = ("open", "stale", "approved", "rejected", "expired")


@dataclass(frozen=True, slots=True)
class RecordedOp:
    """An op that was carried out, as the audit keeps it."""

    op: Mapping[str, object]
    """its JSON; of an undo ``{"op": "undo", "of": the op}``"""
    outcome: str
    removed: bytes = b""
    """what stood there before"""
    added: bytes = b""
    """what stands there now, where the op does not say it: of an undo"""
    remark: str = ""

    def as_json(self) -> dict[str, object]:
        """As it stands in the record."""
        kept = {
            "removed": packed(self.removed),
            "added": packed(self.added),
            "remark": self.remark,
        }
        return {"op": dict(self.op), "outcome": self.outcome} | {
            key: value for key, value in kept.items() if value
        }


@dataclass(frozen=True, slots=True)
class Proposal:
    """An op that waits for a person, or what became of it."""

    id: str
    """the same op on the same note has the same id, every night and on every device"""
    note: str
    op: Mapping[str, object]
    why: str = ""
    state: str = "open"
    ts: str = ""
    """when this was last written down"""
    reason: str = ""
    """of a state that is not open"""
    suspicious: bool = False
    """its text is shaped like an instruction to the bot"""

    def as_json(self) -> dict[str, object]:
        """As it stands in the record."""
        entry: dict[str, object] = {
            "id": self.id,
            "op": dict(self.op),
            "why": self.why,
            "state": self.state,
        }
        return (
            entry
            | ({"reason": self.reason} if self.reason else {})
            | ({"suspicious": True} if self.suspicious else {})
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One run on one note: what was done, refused and proposed."""

    id: str
    """in the order of time"""
    ts: str
    """ISO 8601 with offset"""
    user_id: str
    source: str
    note: str
    applied: tuple[RecordedOp, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    proposed: tuple[Proposal, ...] = ()
    before: str = ""
    """SHA-256 of the whole note; empty when there was none"""
    after: str = ""
    diff: bytes = b""
    why: str = ""
    undoes: str = ""
    """the id of the record that this one took back"""
    redacted: bool = False
    """a person had something in it forgotten"""
    device: str = ""
    """which wrote it down"""

    @property
    def by_bot(self) -> bool:
        """Whether the bot did it, and not a person."""
        return self.source in BOT_SOURCES

    def as_json(self) -> dict[str, object]:
        """The line of the file; anything that JSON cannot hold is made so that it can."""
        entry: dict[str, object] = {
            "id": self.id,
            "ts": self.ts,
            "user_id": self.user_id,
            "source": self.source,
            "note": self.note,
            "applied": [done.as_json() for done in self.applied],
            "rejected": [_rejected_json(refused) for refused in self.rejected],
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
        return {key: plain(value, longest=0) for key, value in entry.items()}


def revision(raw: bytes | None) -> str:
    """The SHA-256 of a note's bytes; empty for a note that is not there."""
    return "" if raw is None else sha256(raw).hexdigest()


def record_run(
    *,
    id: str,
    ts: str,
    user_id: str,
    source: str,
    note: str,
    before: bytes | None,
    after: bytes | None,
    applied: Iterable[Applied | RecordedOp] = (),
    rejected: Iterable[Rejected] = (),
    proposed: Iterable[Proposal] = (),
    why: str = "",
    undoes: str = "",
) -> Record:
    """The record of a run that took a note from `before` to `after`."""
    return Record(
        id,
        ts,
        user_id,
        source,
        note,
        tuple(
            done if isinstance(done, RecordedOp) else as_done(done) for done in applied
        ),
        tuple(rejected),
        tuple(replace(proposal, ts=ts) for proposal in proposed),
        revision(before),
        revision(after),
        unified(before or b"", after or b"", note),
        why,
        undoes,
    )


def as_done(applied: Applied) -> RecordedOp:
    """An op's outcome as the audit keeps it."""
    return RecordedOp(
        as_json(applied.op), applied.outcome, applied.removed, remark=applied.remark
    )


def summary(note: str, outcome: Outcome | Record, proposed: int = 0) -> str:
    """One line for the log channel: ``USER.md curated: +2 appended, -1 removed, +1 new heading``."""
    counted: dict[str, int] = {}
    for done in outcome.applied:
        name = (
            done.op.get("op")
            if isinstance(done.op, Mapping)
            else as_json(done.op)["op"]
        )
        if done.outcome == "applied":
            counted[str(name)] = counted.get(str(name), 0) + 1
    parts = [shown.format(counted[name]) for name, shown in _COUNTED if name in counted]
    proposed = len(outcome.proposed) if isinstance(outcome, Record) else proposed
    parts += [f"{proposed} proposed"] if proposed else []
    return f"{note.rpartition('/')[2]} curated: {', '.join(parts) or 'no change'}"


_COUNTED = (
    ("append", "+{} appended"),
    ("remove", "-{} removed"),
    ("replace", "~{} replaced"),
    ("add_heading", "+{} new heading"),
    ("undo", "{} undone"),
    ("move", "{} moved"),
    ("forget", "-{} forgotten"),
    ("retire", "thrown away by age"),
    ("create", "created"),
    ("str_replace", "~{} passage replaced"),
    ("insert", "+{} passage inserted"),
    ("delete", "thrown away"),
    ("rename", "renamed"),
)


def union(*files: Iterable[Record]) -> tuple[Record, ...]:
    """The records of several devices' files, each once, in the order of time. What one redacted stays redacted.

    What one device wrote into a file keeps its order there, wherever the clock of that device went meanwhile.
    """
    found: dict[str, Record] = {}
    for record in _in_time(files):
        known = found.get(record.id)
        if known is None or (record.redacted and not known.redacted):
            found[record.id] = record
    return tuple(found.values())


def _in_time(files: Sequence[Iterable[Record]]) -> Iterator[Record]:
    """The records of several files, merged by time."""
    listed = [list(file) for file in files]
    if (
        len({record.device for file in listed for record in file}) < 2
        and len(listed) < 2
    ):
        return chain(*listed)
    runs = [run for file in listed for run in _by_device(file)]
    return (record for _, _, record in heapq.merge(*runs, key=lambda one: one[:2]))


def _by_device(file: Iterable[Record]) -> Iterable[list[tuple[datetime, str, Record]]]:
    """A file's records by device, each with the latest time that its device had told by then."""
    runs: dict[str, list[tuple[datetime, str, Record]]] = {}
    for record in file:
        run = runs.setdefault(record.device, [])
        moment = _moment(record.ts)
        run.append((max(moment, run[-1][0]) if run else moment, record.id, record))
    return runs.values()


def proposals_of(records: Iterable[Record]) -> dict[str, Proposal]:
    """All proposals with what became of them, by id; `records` in the order of time."""
    found: dict[str, Proposal] = {}
    for proposal in (proposal for record in records for proposal in record.proposed):
        known = found.get(proposal.id)
        if known is not None:
            op, note = proposal.op or known.op, proposal.note or known.note
            suspicious = proposal.suspicious or known.suspicious
            proposal = replace(
                proposal,
                op=op,
                note=note,
                why=proposal.why or known.why,
                suspicious=suspicious,
            )
        if proposal.op:
            found[proposal.id] = proposal
    return found


def propose(note: str, op: Op, why: str, *, suspicious: bool = False) -> Proposal:
    """A proposal to carry out an op on a note."""
    said = as_json(op)
    return Proposal(
        short_hash(note, json.dumps(said, sort_keys=True)),
        note,
        said,
        why,
        suspicious=suspicious,
    )


def _rejected_json(refused: Rejected) -> dict[str, object]:
    entry: dict[str, object] = {"op": plain(refused.op), "reason": refused.reason}
    return entry | ({"headings": list(refused.headings)} if refused.headings else {})


def _moment(ts: str) -> datetime:
    try:
        moment = datetime.fromisoformat(ts)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)
