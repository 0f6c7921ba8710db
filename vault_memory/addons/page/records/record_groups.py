"""Groups records by the night, and by the bot or the people of a day."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from vault_memory.addons.page.records.record_rows import RecordRow
from vault_memory.rules.edits.audit_record import Record

NIGHT_SOURCES = frozenset({"nightly", "talk", "retention"})
"""Sources of what a night does: it also writes what people asked for"""
_NIGHT = re.compile(r"\bnight of ([0-9]{4}-[0-9]{2}-[0-9]{2})")


@dataclass(frozen=True, slots=True)
class RecordGroup:
    """Records that belong together, newest first."""

    title: str
    night: str = ""
    """the date of the night; empty for records of a day"""
    rows: list[RecordRow] = field(default_factory=list)

    @property
    def can_undo(self) -> bool:
        """Whether anything of it can be undone"""
        return any(row.can_undo for row in self.rows)


def night_of(record: Record) -> str:
    """Return the date of the night that made a record; empty for any other record."""
    # Fault: a bot gives its own reasons, and could call any edit a night's.
    if record.source not in NIGHT_SOURCES:
        return ""
    match = _NIGHT.search(record.why)
    return match[1] if match else ""


def grouped(records: Iterable[tuple[Record, RecordRow]]) -> list[RecordGroup]:
    """Return groups in the order of their newest records."""
    groups: dict[str, RecordGroup] = {}
    for record, row in records:
        title = _title(record)
        group = groups.setdefault(title, RecordGroup(title, night_of(record)))
        group.rows.append(row)
    return list(groups.values())


def _title(record: Record) -> str:
    night = night_of(record)
    if night:
        return f"The night of {night}"
    who = "The bot" if record.by_bot else "People and the program"
    return f"{who}, {_local_day(record.ts)}"


def _local_day(ts: str) -> str:
    try:
        return datetime.fromisoformat(ts).astimezone().date().isoformat()
    except (ValueError, OverflowError):
        # A person may edit the audit, and a sync program may cut it.
        return "at an unknown time"
