"""A night is done once for each local date, whatever clocks, zones and power do."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.learning.runner import Schedule

ZONES = sorted(available_timezones())
THIRTY = [
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Anchorage",
    "America/Caracas",
    "America/Havana",
    "America/New_York",
    "America/Nuuk",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Atlantic/Azores",
    "Australia/Adelaide",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Europe/London",
    "Pacific/Apia",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Pacific/Easter",
    "Pacific/Kiritimati",
    "UTC",
]


@pytest.mark.parametrize("text", ["0 2 * * *", "59 23 * * *", " 05  0 *  * * "])
def test_a_schedule_is_one_time_of_the_day(text):
    schedule = Schedule.read(text)

    assert schedule is not None
    assert f"{schedule.minute} {schedule.hour}".split() == [
        str(int(part)) for part in text.split()[:2]
    ]


@every("text", ["", "0 2 * * 1", "60 2 * * *", "0 24 * * *", "*/5 2 * * *", "0 2 * *", "@daily"])
def test_any_other_text_is_not_a_schedule(text):
    assert Schedule.read(text) is None


@pytest.mark.sampled
def test_each_night_of_366_days_is_done_once_in_thirty_zones():
    schedules = [Schedule(2, 0), Schedule(2, 30), Schedule(0, 0), Schedule(23, 59)]
    for number, name in enumerate(THIRTY):
        zone, schedule = ZoneInfo(name), schedules[number % 4]
        done: date | None = None
        nights = []
        now = datetime(2028, 1, 1, tzinfo=UTC)
        for _ in range(366 * 24 * 2):  # every half hour, as a daemon looks
            now += timedelta(minutes=30)
            night = schedule.due(now, zone, done=done)
            if night is not None:
                began = schedule.begins(night, zone)
                assert began <= now < began + timedelta(hours=25)
                assert began.astimezone(zone).date() == night
                nights.append(night)
                done = night
        assert nights == [nights[0] + timedelta(days=day) for day in range(len(nights))], name
        assert len(nights) in (366, 367), name


@given(
    zone=st.sampled_from(ZONES),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
    start=st.datetimes(datetime(1970, 1, 2), datetime(2037, 12, 1)),
    gaps=st.lists(st.integers(1, 60 * 24 * 5), min_size=1, max_size=40),
)
@example(zone="Europe/Berlin", hour=2, minute=30, start=datetime(2026, 3, 28), gaps=[30] * 96)
@example(zone="Europe/Berlin", hour=2, minute=30, start=datetime(2026, 10, 24), gaps=[30] * 96)
@example(zone="Pacific/Apia", hour=2, minute=0, start=datetime(2011, 12, 28), gaps=[60] * 96)
@example(zone="America/Sao_Paulo", hour=0, minute=0, start=datetime(2018, 11, 2), gaps=[45] * 96)
def test_after_any_power_cut_the_last_night_is_caught_up_once(zone, hour, minute, start, gaps):
    schedule, where = Schedule(hour, minute), ZoneInfo(zone)
    now, done = start.replace(tzinfo=UTC), None
    for gap in gaps:
        now += timedelta(minutes=gap)
        night = schedule.due(now, where, done=done)
        latest = schedule.latest(now, where)
        assert (
            schedule.begins(latest, where)
            <= now
            < schedule.begins(latest + timedelta(days=1), where)
        )
        if night is None:
            assert done is not None
            assert done >= latest
        else:
            assert night == latest
            assert done is None or night > done
            done = night
        assert schedule.due(now, where, done=done) is None


def test_a_clock_set_back_repeats_no_night():
    schedule, zone = Schedule(2, 0), ZoneInfo("Europe/Oslo")

    assert schedule.due(datetime(2026, 5, 1, 12, tzinfo=UTC), zone, done=date(2026, 5, 9)) is None


def test_a_repeated_hour_counts_as_one_night():
    schedule, zone = Schedule(2, 30), ZoneInfo("Europe/Berlin")
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

    assert schedule.due(first - timedelta(minutes=1), zone, done=date(2026, 10, 24)) is None
    assert schedule.due(first, zone, done=date(2026, 10, 24)) == date(2026, 10, 25)
    assert schedule.due(first + timedelta(hours=1), zone, done=date(2026, 10, 25)) is None
    assert schedule.next(first, zone).isoformat() == "2026-10-26T02:30:00+01:00"
