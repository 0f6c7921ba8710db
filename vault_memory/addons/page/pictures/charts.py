"""Draws charts over time: what weeks and nights brought, and how long searches took."""

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vault_memory.addons.page.pictures.svg import Attributes, Picture, title

WEEKS = 26
MOST_COLUMNS = 120
"""Weeks or days in a chart, the last ones"""
WIDTH = 720

_HEIGHT = 220
_TOP = 30
_BOTTOM = 190
_LEFT = 60
_LEAST_WIDTH = 240
_MOST_WIDTH = 4000
_LABEL_WIDTH = 80
_FILLED: Attributes = {"fill": "currentColor", "stroke": "currentColor"}
_HOLLOW: Attributes = {"fill": "none", "stroke": "currentColor"}
_SOLID: Attributes = {"stroke": "currentColor"}
_DASHED: Attributes = {"stroke": "currentColor", "stroke-dasharray": "4 3"}


class Week(NamedTuple):
    """A row of the table of weeks."""

    name: str
    """`2026-W07`"""
    notes: int
    facts: int


class LearnedNight(NamedTuple):
    """A row of the table of nights."""

    name: str
    """`2026-02-14`"""
    lines: int
    facts: int


class SearchDay(NamedTuple):
    """A row of the table of search times, in milliseconds."""

    name: str
    """`2026-02-14`"""
    searches: int
    median: float
    slowest_twentieth: float
    """One search of twenty took longer"""


# --- Rows of the tables -----------------------------------------------------------------------


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


# --- Pictures ---------------------------------------------------------------------------------


def weeks_svg(rows: Sequence[Week], width: int = WIDTH) -> str:
    """Return a chart with two bars for each week: notes are filled, facts are hollow."""
    columns = [_BarPair(row.name, row.notes, row.facts) for row in rows]
    return _pairs_svg("Notes and facts of each week", "week", "notes", columns, width)


def nights_svg(rows: Sequence[LearnedNight], width: int = WIDTH) -> str:
    """Return a chart with two bars for each night: lines are filled, facts are hollow."""
    columns = [_BarPair(row.name, row.lines, row.facts) for row in rows]
    return _pairs_svg("What the nights learned", "night", "lines", columns, width)


class _BarPair(NamedTuple):
    """Two bars side by side."""

    name: str
    filled: int
    facts: int


def _pairs_svg(title: str, period: str, unit: str, rows: Sequence[_BarPair], width: int) -> str:
    """Return a chart with two bars for each period; `unit` names what the filled ones count."""
    chart = _Chart(f"{period}s", [row.name for row in rows], width)
    rows = rows[-MOST_COLUMNS:]
    most = max((row.filled for row in rows), default=0)
    most_facts = max((row.facts for row in rows), default=0)
    chart.draw_axes(max(most, most_facts), "")
    chart.draw_legend(unit, _FILLED, "facts", _HOLLOW)
    for column, row in enumerate(rows):
        words = f"{row.name}: {row.filled} {unit}, {row.facts} facts"
        chart.draw_bar(column, 0, row.filled, _FILLED, words)
        chart.draw_bar(column, 1, row.facts, _HOLLOW, words)
    counts = f"At most {most} {unit} and {most_facts} facts in a {period}."
    return chart.picture.svg(title, f"{len(rows)} {period}s. {counts}")


def latency_svg(rows: Sequence[SearchDay], width: int = WIDTH) -> str:
    """Return a chart with two lines over the days: median, and the slowest twentieth."""
    chart = _Chart("latency", [row.name for row in rows], width)
    rows = rows[-MOST_COLUMNS:]
    medians = [row.median for row in rows]
    slow = [row.slowest_twentieth for row in rows]
    slowest = max([*medians, *slow], default=0.0)
    chart.draw_axes(slowest, " ms")
    chart.draw_legend("median", _SOLID, "95 of 100 are faster", _DASHED)
    chart.draw_line(medians, _SOLID)
    chart.draw_line(slow, _DASHED)
    for column, row in enumerate(rows):
        words = (
            f"{row.name}: {row.searches} searches, median {row.median:.1f} ms,"
            f" 95 of 100 within {row.slowest_twentieth:.1f} ms"
        )
        chart.draw_dot(column, row.median, words)
        chart.draw_dot(column, row.slowest_twentieth, words)
    description = f"{len(rows)} days. The slowest value is {slowest:.1f} ms."
    return chart.picture.svg("How long searches took", description)


def _number(value: float) -> str:
    """Return a number beside the axis, short enough for the space there."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{round(value, 1):g}"


class _Chart:
    """Columns over an axis of time."""

    def __init__(self, name: str, columns: Sequence[str], width: int) -> None:
        self._columns = columns[-MOST_COLUMNS:]
        self._width = min(max(width, _LEAST_WIDTH), _MOST_WIDTH)
        self._column_width = (self._width - _LEFT) / max(len(self._columns), 1)
        self._most = 1.0
        self.picture = Picture(name, self._width, _HEIGHT)

    def draw_axes(self, most: float, unit: str) -> None:
        """Draw the axes, up to the greatest value."""
        # Without any value, the division by the greatest one would fail.
        self._most = float(most) or 1.0
        for level in (0.0, 0.5, 1.0):
            value = most * level
            y = self._y(self._most * level)
            self._rule(y)
            self.picture.label(_LEFT - 6, y + 4, f"{_number(value)}{unit}", "end")
        if not self._columns:
            self.picture.label(self._width / 2, 110.0, "Nothing yet", "middle")
        # Names of columns must not run into one another.
        step = math.ceil(_LABEL_WIDTH / self._column_width)
        for column in range(0, len(self._columns), step):
            x = self._x(column)
            if x + _LABEL_WIDTH <= self._width:
                self.picture.label(x, _BOTTOM + 18.0, self._columns[column])

    def draw_legend(
        self, first: str, first_look: Attributes, second: str, second_look: Attributes
    ) -> None:
        """Name both kinds of shapes."""
        for x, name, look in ((_LEFT, first, first_look), (_LEFT + 90, second, second_look)):
            box = {"x": x, "y": 4, "width": 12, "height": 10}
            self.picture.add("rect", {**box, "fill": "none", **look})
            self.picture.label(x + 18.0, 14.0, name)

    def draw_bar(self, column: int, place: int, value: float, look: Attributes, words: str) -> None:
        """Draw the first or the second bar of a column; nothing for 0."""
        if value <= 0:
            return
        bar_width = self._column_width * 0.4
        y = self._y(value)
        bar: Attributes = {
            "x": self._x(column) + place * bar_width,
            "y": y,
            "width": bar_width * 0.9,
            "height": _BOTTOM - y,
        }
        self.picture.add("rect", {**bar, **look}, title(words))

    def draw_line(self, values: Sequence[float], look: Attributes) -> None:
        """Draw a line through the values of all columns."""
        points: list[str] = []
        for column, value in enumerate(values):
            x = self._x(column)
            y = self._y(value)
            points.append(f"{x:.1f},{y:.1f}")
        line: Attributes = {"points": " ".join(points), "fill": "none", "stroke-width": 2}
        self.picture.add("polyline", {**line, **look})

    def draw_dot(self, column: int, value: float, words: str) -> None:
        """Draw the point of a line that says its numbers."""
        dot: Attributes = {
            "cx": self._x(column),
            "cy": self._y(value),
            "r": 3,
            "fill": "currentColor",
        }
        self.picture.add("circle", dot, title(words))

    def _rule(self, y: float) -> None:
        rule: Attributes = {
            "class": "rule",
            "x1": _LEFT,
            "y1": y,
            "x2": self._width,
            "y2": y,
            "stroke": "currentColor",
            "stroke-opacity": "0.3",
        }
        self.picture.add("line", rule)

    def _x(self, column: int) -> float:
        return _LEFT + (column + 0.1) * self._column_width

    def _y(self, value: float) -> float:
        # A clock that was set back gives times below zero.
        share = min(max(value / self._most, 0.0), 1.0)
        return _BOTTOM - share * (_BOTTOM - _TOP)
