"""What a week brought, and how long searches took on a day."""

import datetime

from vault_memory.addons.page.views.record_views import Week, weeks
from vault_memory.addons.page.views.upkeep_views import SearchDay, search_days

DAY = datetime.date(2026, 5, 3)


def test_a_week_without_notes_is_a_row_too() -> None:
    notes = [DAY, DAY, DAY - datetime.timedelta(days=15)]

    rows = weeks(notes, [DAY], DAY, count=3)

    assert rows == [Week("2026-W16", 1, 0), Week("2026-W17", 0, 0), Week("2026-W18", 2, 1)]


def test_weeks_are_counted_over_the_end_of_a_year() -> None:
    rows = weeks([], [], datetime.date(2027, 1, 5), count=3)

    assert [row.name for row in rows] == ["2026-W52", "2026-W53", "2027-W01"]


def test_search_times_are_the_median_and_the_slowest_twentieth_of_a_day() -> None:
    times = [(DAY, float(number)) for number in range(1, 101)]

    assert search_days([*times, (DAY, float("nan"))]) == [SearchDay("2026-05-03", 100, 50.0, 95.0)]


def test_one_search_is_enough_for_a_day() -> None:
    assert search_days([(DAY, 7.0)]) == [SearchDay("2026-05-03", 1, 7.0, 7.0)]
