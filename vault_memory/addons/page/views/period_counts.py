"""Counts what weeks brought, and how long searches took on each day."""

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

WEEKS = 26


class Week(NamedTuple):
    """A row of the table of weeks."""

    name: str
    """`2026-W07`"""
    notes: int
    facts: int


class SearchDay(NamedTuple):
    """A row of the table of search times, in milliseconds."""

    name: str
    """`2026-02-14`"""
    searches: int
    median: float
    slowest_twentieth: float
    """One search of twenty took longer"""


def weeks(
    notes: Iterable[datetime.date],
    facts: Iterable[datetime.date],
    last: datetime.date,
    count: int = WEEKS,
) -> list[Week]:
    """Return the weeks up to that of `last`, with those in which nothing happened."""
    note_counts = Counter(map(_week_name, notes))
    fact_counts = Counter(map(_week_name, facts))
    rows: list[Week] = []
    for ago in reversed(range(count)):
        name = _week_name(last - datetime.timedelta(weeks=ago))
        rows.append(Week(name, note_counts[name], fact_counts[name]))
    return rows


def _week_name(day: datetime.date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"


def search_days(samples: Iterable[tuple[datetime.date, float]]) -> list[SearchDay]:
    """Return the days on which searches were timed, from pairs of day and milliseconds."""
    by_day: defaultdict[str, list[float]] = defaultdict(list)
    for day, milliseconds in samples:
        # Fault: one value that is no number would make the sorted list and each median wrong.
        if math.isfinite(milliseconds):
            by_day[f"{day:%Y-%m-%d}"].append(milliseconds)
    rows: list[SearchDay] = []
    for name, times in sorted(by_day.items()):
        times.sort()
        median = _percentile(times, 0.5)
        slow = _percentile(times, 0.95)
        rows.append(SearchDay(name, len(times), median, slow))
    return rows


def _percentile(times: Sequence[float], share: float) -> float:
    """Return the least of the sorted times that this share of them does not exceed."""
    index = math.ceil(share * len(times)) - 1
    return times[index]
