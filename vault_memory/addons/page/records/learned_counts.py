"""Counts what was learned: the lines and facts of each night, and the days of new ones."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime

from vault_memory.addons.page.records.record_groups import night_of
from vault_memory.rules.edits.audit_record import Record

ADDING_OPS = frozenset({"append", "add_heading", "replace"})


@dataclass(slots=True)
class NightCounts:
    """What one night wrote."""

    lines: int = 0
    """in notes that are not lists of facts"""
    facts: int = 0
    records: int = 0
    undone: int = 0
    """how many of its records are undone now"""


@dataclass(slots=True)
class LearnedCounts:
    """What the nights wrote, and when notes and facts were written by anybody."""

    nights: dict[str, NightCounts] = field(default_factory=dict)
    """by the date of the night"""
    note_days: set[tuple[date, str]] = field(default_factory=set)
    """the days on which a note was written"""
    fact_days: list[date] = field(default_factory=list)
    """a day for each fact"""


def count_learned(
    records: Iterable[tuple[Record, str]], kind_of: Callable[[str], str]
) -> LearnedCounts:
    """Count records, each with the id of the record that undid it.

    `kind_of` returns the kind of a note.
    """
    counts = LearnedCounts()
    for record, undone_by in records:
        if record.before == record.after:
            continue
        is_facts = kind_of(record.note) == "facts"
        lines = _added(record)
        _count_day(counts, record, is_facts, lines)
        night = night_of(record)
        if night:
            night_counts = counts.nights.setdefault(night, NightCounts())
            night_counts.records += 1
            night_counts.undone += bool(undone_by)
            night_counts.facts += lines if is_facts else 0
            night_counts.lines += 0 if is_facts else lines
    return counts


def _added(record: Record) -> int:
    ops = [applied for applied in record.applied if applied.outcome == "applied"]
    return sum(1 for applied in ops if applied.op.get("op") in ADDING_OPS)


def _count_day(counts: LearnedCounts, record: Record, is_facts: bool, lines: int) -> None:
    try:
        day = datetime.fromisoformat(record.ts).astimezone().date()
    except (ValueError, OverflowError):
        # A person may edit the audit, and a sync program may cut it.
        return
    if is_facts:
        counts.fact_days += [day] * lines
    else:
        counts.note_days.add((day, record.note))
