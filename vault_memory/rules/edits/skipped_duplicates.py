"""Records of texts that were not written because an item says the same, and the support they give.

The record lies in the audit of the item's note. It is an append with the outcome ``noop_dup``, and
names its twin and the turn. An item's support is the number of distinct turns that say it. So
support follows from the audit alone, and an undo of the record takes it away.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vault_memory.markdown.items import parse_item
from vault_memory.rules.edits.audit_record import Record, RecordedOp

SKIPPED = "noop_dup"
SETTLE = "settle"
"""The op of a decision on one place of a conflict copy"""


@dataclass(frozen=True, slots=True)
class SkippedDuplicate:
    """A text that was not written."""

    heading: str
    line: str
    twin: str
    """the content key of the item that says the same; of a fact its id"""
    turn: str
    """the id of the turn that says it; empty when a tool or a person asked without a turn"""

    def as_op(self) -> dict[str, object]:
        """Returns its op in the audit."""
        return {
            "op": "append",
            "heading": self.heading,
            "line": self.line,
            "twin": self.twin,
            "turn": self.turn,
        }


def skipped_op(op: Mapping[str, object]) -> RecordedOp:
    """Returns a skipped duplicate in the form of the audit."""
    return RecordedOp(op, SKIPPED)


def skips_of(record: Record) -> tuple[RecordedOp, ...]:
    """Returns the skipped duplicates of a record, or what an undo took back of them."""
    return tuple(op for op in record.applied if is_skip(op))


def is_skip(op: RecordedOp) -> bool:
    """Whether an op is a skipped duplicate, or what an undo took back of one."""
    return _twin_and_turn(op) is not None


def undone_silent_ops(record: Record) -> tuple[RecordedOp, ...]:
    """Returns the ops of an undo of what left no trace in the text: skipped duplicates, and places that were kept."""
    is_unchanged = record.before == record.after
    return tuple(
        RecordedOp({"op": "undo", "of": dict(op.op)}, op.outcome)
        for op in record.applied
        if is_skip(op) or (is_unchanged and own_op(op.op).get("op") == SETTLE)
    )


def supports(records: Iterable[Record]) -> dict[str, frozenset[str]]:
    """Returns the turns that repeated an item, by its key; `records` are those of its note."""
    turns: dict[str, set[str]] = defaultdict(set)
    for twin, turn, _ in _valid_skips(records):
        turns[twin].add(turn)
    return {twin: frozenset(ids) for twin, ids in turns.items()}


def last_supported(records: Iterable[Record]) -> dict[str, str]:
    """Returns when an item was last repeated, by its key: ISO 8601 with an offset."""
    moments: dict[str, str] = {}
    for twin, _, moment in _valid_skips(records):
        moments[twin] = max(moment, moments.get(twin, ""))
    return moments


def _valid_skips(records: Iterable[Record]) -> Iterator[tuple[str, str, str]]:
    """Yields twin, turn and moment of each skipped duplicate that was not undone."""
    records = tuple(records)
    undone = undone_ids(records)
    for record in records:
        if record.id in undone or record.undoes:
            continue
        for op in record.applied:
            match _twin_and_turn(op):
                case twin, turn:
                    yield twin, turn, record.ts


def turns_of(text: str, key: str, by_key: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Returns all turns that say an item: the one it cites, and those that repeated it."""
    ref = parse_item(text).ref
    return by_key.get(key, frozenset()) | ({ref} if ref else set())


def undone_ids(records: Iterable[Record]) -> frozenset[str]:
    """Returns the ids of records that were undone; an undo that was undone does not count."""
    undone: set[str] = set()
    for record in reversed(tuple(records)):
        if record.undoes and record.id not in undone:
            undone.add(record.undoes)
    return frozenset(undone)


def own_op(op: Mapping[str, object]) -> Mapping[str, object]:
    """Returns an op, or the op that an undo took back, and its undo, and so on."""
    while isinstance(undone := op.get("of"), Mapping):
        op = undone
    return op


def _twin_and_turn(op: RecordedOp) -> tuple[str, str] | None:
    """Returns the twin and the turn of a skipped duplicate; None for any other op."""
    if op.outcome != SKIPPED:
        return None
    fields = own_op(op.op)
    twin, turn = fields.get("twin"), fields.get("turn")
    if isinstance(twin, str) and isinstance(turn, str) and twin:
        return twin, turn
    return None
