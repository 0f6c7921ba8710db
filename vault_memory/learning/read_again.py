"""Lets the next cycle read a day again, for example after a model answered badly."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from vault_memory.learning.checkpoint import CheckpointStore, LastCycle
from vault_memory.learning.unread_turns import Log, day_of, mark_of, moment_of, unread


@dataclass(frozen=True, slots=True)
class DayAgain:
    """The turns of a local day, which a cycle reads once more."""

    marks: frozenset[str]
    beginning: datetime

    @classmethod
    def of(cls, logs: Mapping[str, Log], day: date, zone: tzinfo) -> "DayAgain":
        """Finds the turns of the day in the transcripts."""
        turns = unread(logs, set(), datetime.min.replace(tzinfo=UTC))
        marks = (mark_of(turn.id) for turn in turns if day_of(turn, zone) == day)
        return cls(frozenset(marks), datetime(day.year, day.month, day.day, tzinfo=zone))

    def reopen(self, last: LastCycle) -> None:
        """Lets a cycle after this one open the transcripts of the day."""
        # An unchanged transcript without unread turns is not opened.
        last.files = {}
        # A day may be older than the memory of the vault.
        if last.since and self.beginning < moment_of(last.since):
            last.since = self.beginning.isoformat()

    def mark_unread(self, store: CheckpointStore, scope: str) -> None:
        """Marks the turns as unread, durably."""
        last = store.last(scope)
        last.scope = scope
        last.since = last.since or self.beginning.isoformat()
        self.reopen(last)
        store.mark_unread(scope, last.serial, sorted(self.marks))
        store.save(scope, last)


__all__ = ["DayAgain"]
