"""Dates in the names of daily notes: read and written in the form that the editor uses."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.paths.date_formats import day_of, expression, problem_of, render

NAMES = [
    ("YYYY-MM-DD", "2026-05-04"),
    ("YYYY/MM/YYYY-MM-DD", "2026/05/2026-05-04"),
    ("YYYY_MM_DD", "2026_05_04"),
    ("YYYYMMDD", "20260504"),
    ("YYYY/MM MMMM/YYYY-MM-DD, dddd", "2026/05 May/2026-05-04, Monday"),
    ("MMMM Do, YYYY", "May 4th, 2026"),
    ("DD.MM.YY", "04.05.26"),
    ("[Day] D-M-YYYY", "Day 4-5-2026"),
    ("GGGG-[W]WW/YYYY-MM-DD ddd", "2026-W19/2026-05-04 Mon"),
    ("YYYY/[Q]Q/MMM D", "2026/Q2/May 4"),
]


@every(("date_format", "name"), NAMES)
def test_a_daily_note_is_written_as_the_editor_writes_it(date_format, name):
    assert problem_of(date_format) == ""
    assert render(date_format, date(2026, 5, 4)) == name


@given(
    st.sampled_from([date_format for date_format, _ in NAMES]),
    st.dates(date(2000, 1, 1), date(2099, 12, 31)),
)
def test_what_is_written_is_read_as_the_same_day(date_format, day):
    match = re.fullmatch(expression(date_format), render(date_format, day))

    assert match is not None
    assert day_of(match) == day


@pytest.mark.parametrize("name", ["2026-02-30", "2026-13-01"])
def test_a_day_that_the_calendar_lacks_is_no_date(name):
    match = re.fullmatch(expression("YYYY-MM-DD"), name)

    assert match is not None
    with pytest.raises(ValueError, match=r"must be in|out of range"):
        day_of(match)
