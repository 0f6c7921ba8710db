"""Removes a text from audit records. The record stays with its time and author; its words go."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from vault_memory.rules.edits.audit_record import Proposal, Record, RecordedOp
from vault_memory.rules.edits.json_safe import plain
from vault_memory.rules.edits.ops import OP_NAMES, Rejected
from vault_memory.rules.edits.text_edits import NAMES as TEXT_EDITS

NAMES = frozenset({*OP_NAMES, "undo", "lift", "restore", "save", "forget", *TEXT_EDITS})
"""Names of ops that a redacted record may still show"""

Hides = Callable[[str], bool]
"""Decides whether a text contains the words to forget"""


def redact(record: Record, hides: Hides) -> Record:
    """Returns the record without the texts for which `hides` is true; itself when there are none.

    When only the diff contains the words, among the lines around the edit, only the diff goes.
    """
    if not any(map(hides, _texts(record))):
        if any(map(hides, _texts_of_diff(record.diff))):
            return replace(record, diff=b"")
        return record
    return replace(
        record,
        applied=tuple(_redact_applied(applied, hides) for applied in record.applied),
        rejected=tuple(_redact_rejected(op, hides) for op in record.rejected),
        proposed=tuple(_redact_proposal(item, hides) for item in record.proposed),
        diff=b"",
        why="" if hides(record.why) else record.why,
        redacted=True,
    )


def _texts(record: Record) -> Iterator[str]:
    """Yields all texts of a record except its diff."""
    yield record.why
    for applied in record.applied:
        yield from _texts_of_applied(applied)
    for rejected in record.rejected:
        yield from _texts_of_rejected(rejected)
    for proposal in record.proposed:
        yield from _texts_of_proposal(proposal)


def _texts_of_diff(diff: bytes) -> Iterator[str]:
    """Yields the old and the new text: a sentence may continue on the next line."""
    rows = diff.decode("utf-8", "replace").split("\n")
    for signs in (" -", " +"):
        yield "\n".join(row[1:] for row in rows if row.startswith(tuple(signs)))


def _texts_of_applied(applied: RecordedOp) -> Iterator[str]:
    yield from strings_in(applied.op)
    yield applied.removed.decode("utf-8", "replace")
    yield applied.added.decode("utf-8", "replace")
    yield applied.remark


def _texts_of_rejected(rejected: Rejected) -> Iterator[str]:
    yield from strings_in(plain(rejected.op, longest=0))
    yield from rejected.headings


def _texts_of_proposal(proposal: Proposal) -> Iterator[str]:
    yield from strings_in(proposal.op)
    yield proposal.why
    yield proposal.reason


def strings_in(value: object) -> Iterator[str]:
    """Yields all strings in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)


def _redact_applied(applied: RecordedOp, hides: Hides) -> RecordedOp:
    if not any(map(hides, _texts_of_applied(applied))):
        return applied
    return RecordedOp({"op": _name(applied.op)}, applied.outcome)


def _redact_rejected(rejected: Rejected, hides: Hides) -> Rejected:
    if not any(map(hides, _texts_of_rejected(rejected))):
        return rejected
    return Rejected({"op": _name(rejected.op)}, rejected.reason)


def _redact_proposal(proposal: Proposal, hides: Hides) -> Proposal:
    if not any(map(hides, _texts_of_proposal(proposal))):
        return proposal
    return replace(
        proposal, op={"op": _name(proposal.op)}, why="", reason="forgotten", state="expired"
    )


def _name(op: object) -> str:
    """Returns the name of an op; an unknown name may contain the words to forget."""
    value = plain(op)
    name = value.get("op") if isinstance(value, Mapping) else None
    return name if isinstance(name, str) and name in NAMES else "unknown"
