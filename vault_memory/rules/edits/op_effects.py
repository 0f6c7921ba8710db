"""What each applied op in the audit removed from a note and added to it. Undo and ownership use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from vault_memory.markdown.item_text import written_item
from vault_memory.markdown.note_items import archived_bytes
from vault_memory.rules.context import rule_archive
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.ops import AddHeading, Append, Archive, Op, Remove, Replace, op_of

MOVE = "move"
"""The op of a complete section that moved to or from another note"""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an applied op on one section of a note."""

    heading: str
    removed: bytes = b""
    added: bytes = b""
    whole_section: bool = False
    """the bytes are a section with its heading, not an item"""
    lines: tuple[str, ...] = ()
    """the lines of the added items, where the op names them; `added` has them, too"""


def effects_of(applied: RecordedOp) -> tuple[Effect, ...]:
    """Returns the effects of an op in the audit, in their order.

    An op without an effect, or of an unknown kind, has none.
    """
    if applied.outcome != "applied":
        return ()
    match applied.op.get("op"):
        case "undo":
            return _effects_of_undo(applied)
        case "move":
            heading = str(applied.op.get("heading"))
            return (Effect(heading, applied.removed, applied.added, True),)
    op = op_of(applied.op)
    return () if op is None else _effects_of_op(op, applied.removed)


def undo_op(applied: RecordedOp, effect: Effect) -> dict[str, object]:
    """Returns the op that an undo of this effect has in the audit."""
    undone = _undone_by(applied) or applied.op
    return {"op": "undo", "of": {**undone, "heading": effect.heading}}


def _effects_of_undo(applied: RecordedOp) -> tuple[Effect, ...]:
    undone = _undone_by(applied) or {}
    heading = undone.get("heading")
    if not isinstance(heading, str):
        return ()
    whole_section = undone.get("op") in ("add_heading", MOVE)
    return (Effect(heading, applied.removed, applied.added, whole_section),)


def _undone_by(applied: RecordedOp) -> Mapping[str, object] | None:
    """Returns the op that an undo took back; None for any other op."""
    undone = applied.op.get("of")
    if applied.op.get("op") != "undo" or not isinstance(undone, Mapping):
        return None
    return undone


def _effects_of_op(op: Op, removed: bytes) -> tuple[Effect, ...]:
    match op:
        case Append(heading, line):
            return (Effect(heading, added=_item_bytes(line), lines=(line,)),)
        case AddHeading(heading, lines):
            return (Effect(heading, b"", _section_bytes(heading, lines), True, lines),)
        case Remove(heading):
            # An old record without the removed bytes cannot be taken back.
            return (Effect(heading, removed),) if removed else ()
        case Archive(heading):
            if not removed:
                return ()
            added = archived_bytes(removed)
            return (Effect(heading, removed), Effect(rule_archive.ARCHIVED, added=added))
        case Replace(heading, _, line):
            if not removed:
                return ()
            return (Effect(heading, removed, _item_bytes(line), lines=(line,)),)
        case _:
            assert_never(op)


def _item_bytes(line: str) -> bytes:
    return written_item(b"- ", line)


def _section_bytes(heading: str, lines: Sequence[str]) -> bytes:
    items = [_item_bytes(line) + b"\n" for line in lines]
    return b"".join([f"## {heading}\n\n".encode(), *items])
