"""Audit records as the page shows them: who changed which note, when and why, and what is undone."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.addons.page.records.changed_lines import NO_CHANGES, ChangedLines, read_diff
from vault_memory.rules.edits.audit_record import Record, summary
from vault_memory.rules.edits.blame import added_lines
from vault_memory.rules.edits.op_words import in_words

WHO: Mapping[str, str] = {
    "nightly": "the bot, at night",
    "tool": "the bot, in a conversation",
    "cli": "a person",
    "inbox": "a person, in the inbox",
    "undo": "a person, by undo",
    "forget": "a person, by forget",
    "retention": "the rule for old notes",
    "proposal": "the program, as a proposal",
    "merge": "the program, by a merge",
    "talk": "a person, in a conversation",
}
"""Source of a record → who that is"""
MOST_TURNS = 20
_CITED = re.compile(r"\bref:([^\s,)]+)")


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One audit record."""

    id: str
    ts: str
    note: str
    summary: str
    who: str
    device: str
    why: str
    sections: tuple[str, ...]
    turns: tuple[str, ...]
    """the ids of the turns behind it"""
    diff: ChangedLines
    remarks: tuple[str, ...]
    """what the diff does not show: refused, proposed and idle ops"""
    has_changed: bool
    can_undo: bool
    undoes: str
    undone_by: str
    is_redacted: bool
    folded: int
    """how many records it is what is left of"""
    from_disk: ChangedLines = NO_CHANGES
    """what others had saved before a text was saved, which was merged with it"""


class Undoing:
    """Which records are undone now. It must get the records newest first."""

    def __init__(self) -> None:
        self._undone_by: dict[str, str] = {}

    def add(self, record: Record) -> str:
        """Return the id of the record that undid this one; empty when it is in effect."""
        undone_by = self._undone_by.get(record.id, "")
        has_changed = record.before != record.after
        # An undo that was undone itself undoes nothing.
        if record.undoes and has_changed and not undone_by:
            self._undone_by.setdefault(record.undoes, record.id)
        return undone_by


def row_of(record: Record, undone_by: str, *, complete: bool = False) -> RecordRow:
    """Return a record for a template; with `complete`, all lines of its diff."""
    diff = record.diff.decode("utf-8", "replace")
    return RecordRow(
        id=record.id,
        ts=record.ts,
        note=record.note,
        summary=summary(record.note, record),
        who=WHO.get(record.source, record.source),
        device=record.device,
        why=record.why,
        sections=tuple(dict.fromkeys(_sections(record))),
        turns=tuple(dict.fromkeys(_turns(record)))[:MOST_TURNS],
        diff=read_diff(diff, complete=complete),
        remarks=tuple(_remarks(record)),
        has_changed=record.before != record.after,
        can_undo=_can_undo(record, undone_by),
        undoes=record.undoes,
        undone_by=undone_by,
        is_redacted=record.redacted,
        folded=len(record.folded),
    )


def _can_undo(record: Record, undone_by: str) -> bool:
    has_changed = record.before != record.after
    is_readable = not record.redacted and not record.folded
    return has_changed and is_readable and not undone_by


def _sections(record: Record) -> Iterator[str]:
    for applied in record.applied:
        heading = _own_op(applied.op).get("heading")
        if isinstance(heading, str) and heading:
            yield heading.lstrip("# ")


def _own_op(op: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an op, or the op that an undo took back."""
    undone = op.get("of")
    return undone if isinstance(undone, Mapping) else op


def _turns(record: Record) -> Iterator[str]:
    for line in added_lines(record):
        yield from _CITED.findall(line)
    for applied in record.applied:
        turn = applied.op.get("turn")
        if isinstance(turn, str) and turn:
            yield turn


def _remarks(record: Record) -> Iterator[str]:
    for applied in record.applied:
        if applied.outcome != "applied":
            yield f"nothing to do: {in_words(applied.op)}"
    for proposal in record.proposed:
        yield f"proposed, {proposal.state}: {in_words(proposal.op)}"
    for refused in record.rejected:
        yield f"refused, {refused.reason}: {in_words(refused.op)}"
