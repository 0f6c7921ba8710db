"""Nights: what the bot learned in each, which one is next, and which ones failed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import NotHere, PageView
from vault_memory.addons.page.records.night_viewer import StoredNight, as_html
from vault_memory.addons.page.records.record_groups import night_of
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.period_counts import Week, weeks
from vault_memory.rules.edits.audit_record import Record

MOST_NIGHTS = 100
"""Nights in the table, the newest ones"""
ADDING_OPS = frozenset({"append", "add_heading", "replace"})


# --- Learned counts ---


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


# --- Nights view ---


class NightsFields(msgspec.Struct):
    """The fields of `/nights`: none."""


class NightFields(msgspec.Struct):
    """The fields of `/nights/DATE`."""

    night: str


class NightRow(NamedTuple):
    """A night in the table."""

    night: str
    scopes: tuple[str, ...]
    unfinished: tuple[str, ...]
    learned: NightCounts


def show_all(viewer: Viewer, query: NightsFields) -> PageView:
    reports = viewer.nights.reports()
    learned = _learned(viewer)
    next_begins = viewer.nights.next_begins()
    rows = [_row(report, learned) for report in reports[:MOST_NIGHTS]]
    data = {
        "next_begins": next_begins.isoformat() if next_begins else "",
        "is_late": _is_late(reports, next_begins),
        "rows": rows,
        "unfinished": [row for row in rows if row.unfinished],
        "left_out": len(reports) - len(rows),
        "weeks": _weeks(learned),
    }
    return PageView("nights.html", "Nights", data)


def show(viewer: Viewer, query: NightFields) -> PageView:
    reports = viewer.nights.reports()
    nights = [report.night for report in reports]
    if query.night not in nights:
        raise NotHere("there is no report of such a night", hint="see all nights")
    index = nights.index(query.night)
    report = reports[index]
    row = _row(report, _learned(viewer))
    data = {
        "row": row,
        "html": as_html(report.text),
        "can_undo": row.learned.records > row.learned.undone,
        "older": nights[index + 1] if index + 1 < len(nights) else "",
        "newer": nights[index - 1] if index else "",
    }
    return PageView("night.html", f"The night of {report.night}", data)


def _is_late(reports: list[StoredNight], next_begins: datetime | None) -> bool:
    """Return whether a night has begun since the last one that has a report."""
    if next_begins is None or not reports:
        return False
    last_begun = next_begins.date() - timedelta(days=1)
    return reports[0].night < last_begun.isoformat()


def _row(report: StoredNight, learned: LearnedCounts) -> NightRow:
    counts = learned.nights.get(report.night, NightCounts())
    return NightRow(report.night, report.scopes, report.unfinished, counts)


def _weeks(learned: LearnedCounts) -> list[Week]:
    """Return the last weeks, the newest at the end."""
    note_days = [day for day, _ in learned.note_days]
    today = datetime.now().astimezone().date()
    return weeks(note_days, learned.fact_days, today)


def _learned(viewer: Viewer) -> LearnedCounts:
    records = viewer.records.with_undoing()
    return count_learned(records, viewer.records.kind)
