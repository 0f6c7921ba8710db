"""Taking a text out of the audit: the record stays, with when and by whom; what it said goes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from vault_memory.rules.edits.audit_record import Proposal, Record, RecordedOp
from vault_memory.rules.edits.json_safe import plain
from vault_memory.rules.edits.ops import Rejected
from vault_memory.rules.edits.text_edits import NAMES as TEXT_EDITS

NAMES = frozenset(
    {
        "append",
        "add_heading",
        "remove",
        "replace",
        "undo",
        "lift",
        "restore",
        "forget",
        *TEXT_EDITS,
    }
)


def redact(record: Record, hides: Callable[[str], bool]) -> Record:
    """The record without what `hides` says of a text that it must go; the same record when that is nothing.

    A record that only shows it in its diff, among the lines around its own, still tells what it did.
    """
    if not any(hides(text) for text in _texts(record)):
        return (
            replace(record, diff=b"")
            if any(map(hides, _of_diff(record.diff)))
            else record
        )
    return replace(
        record,
        applied=tuple(_done(done, hides) for done in record.applied),
        rejected=tuple(_refused(refused, hides) for refused in record.rejected),
        proposed=tuple(_proposal(proposal, hides) for proposal in record.proposed),
        diff=b"",
        why="" if hides(record.why) else record.why,
        redacted=True,
    )


def _texts(record: Record) -> Iterator[str]:
    """All that a record says, in pieces."""
    yield record.why
    for done in record.applied:
        yield from _of_done(done)
    for refused in record.rejected:
        yield from (*_strings(plain(refused.op, longest=0)), *refused.headings)
    for proposal in record.proposed:
        yield from (*_strings(proposal.op), proposal.why, proposal.reason)


def _of_diff(diff: bytes) -> Iterator[str]:
    """What was there and what came, each in one piece: a text may go on from one line to the next."""
    rows = diff.decode("utf-8", "replace").split("\n")
    for signs in (" -", " +"):
        yield "\n".join(row[1:] for row in rows if row[:1] and row[0] in signs)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (str(key), *_strings(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _of_done(done: RecordedOp) -> Iterator[str]:
    pieces = (piece.decode("utf-8", "replace") for piece in (done.removed, done.added))
    yield from (*_strings(done.op), *pieces, done.remark)


def _done(done: RecordedOp, hides: Callable[[str], bool]) -> RecordedOp:
    return (
        RecordedOp({"op": _name(done.op)}, done.outcome)
        if any(map(hides, _of_done(done)))
        else done
    )


def _refused(refused: Rejected, hides: Callable[[str], bool]) -> Rejected:
    texts = (*_strings(plain(refused.op, longest=0)), *refused.headings)
    return (
        Rejected({"op": _name(refused.op)}, refused.reason)
        if any(map(hides, texts))
        else refused
    )


def _proposal(proposal: Proposal, hides: Callable[[str], bool]) -> Proposal:
    if not any(map(hides, (*_strings(proposal.op), proposal.why, proposal.reason))):
        return proposal
    return replace(
        proposal,
        op={"op": _name(proposal.op)},
        why="",
        reason="forgotten",
        state="expired",
    )


def _name(op: object) -> str:
    said = plain(op)
    found = said.get("op") if isinstance(said, Mapping) else None
    return found if isinstance(found, str) and found in NAMES else "unknown"
