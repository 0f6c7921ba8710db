"""Whatever form TZ has, each command knows the local time, and nights begin by the clock on the wall."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scenarios.outside import Outside
from vault_memory.config.machine_zone import SystemZone, local_zone
from vault_memory.learning.runner import Schedule

FORMS = {
    "UTC0": 0,
    "<+03>-3": 3,
    "CET-1CEST": 1,
    "EST5EDT,M3.2.0,M11.1.0": -5,
    "<-0330>3:30": -3.5,
    "NZST-12NZDT": 12,
    "": 0,
    ":Europe/Lisbon": 0,
    "Europe/Lisbon": 0,
    "No/Where": 0,
    "/etc/hostname": 0,
}
"""TZ, and hours east of Greenwich in January"""


@contextmanager
def clock(form: str) -> Iterator[None]:
    """The C library with this TZ."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", form)
        time.tzset()
        try:
            yield
        finally:
            patch.undo()
            time.tzset()


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    with clock(request.param):
        yield request.param


@pytest.mark.sampled
def test_a_machine_may_define_its_zone_by_a_posix_rule(outside: Outside, form: str):
    outside.quick = True
    outside.settings["TZ"] = form
    for command in (["status"], ["sleep", "--dry-run"], ["sleep", "--due"], ["doctor"]):
        done = outside.run(*command)
        assert done.code in (0, 1), done
        assert "this is a bug" not in done.err


def test_the_local_zone_has_the_offset_of_tz(form: str):
    zone = local_zone()

    assert datetime(2026, 1, 15, 12, tzinfo=zone).utcoffset() == timedelta(hours=FORMS[form])
    assert datetime(2026, 1, 15, 12, tzinfo=UTC).astimezone(zone).utcoffset() == timedelta(
        hours=FORMS[form]
    )


def test_the_system_zone_agrees_with_the_system_clock(form: str):
    noon = datetime(2026, 7, 15, 12, tzinfo=UTC)

    assert noon.astimezone(SystemZone()).replace(tzinfo=None) == noon.astimezone().replace(
        tzinfo=None
    )


@given(seconds=st.integers(0, 2**31 - 1))
def test_a_moment_survives_conversion_to_local_time_and_back(seconds):
    moment = datetime.fromtimestamp(seconds, UTC)

    with clock("EST5EDT,M3.2.0,M11.1.0"):
        assert moment.astimezone(SystemZone()).astimezone(UTC) == moment


def test_a_repeated_hour_counts_as_one_night():
    schedule, zone = Schedule(2, 30), SystemZone()
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

    with clock("CET-1CEST,M3.5.0,M10.5.0/3"):
        assert schedule.due(first - timedelta(minutes=1), zone, done=date(2026, 10, 24)) is None
        assert schedule.due(first, zone, done=date(2026, 10, 24)) == date(2026, 10, 25)
        assert schedule.due(first + timedelta(hours=1), zone, done=date(2026, 10, 25)) is None
