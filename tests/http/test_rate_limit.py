"""Nobody asks more often than they may, and whoever waits as long as they were told may ask again."""

from hypothesis import example, given
from hypothesis import strategies as st

from vault_memory.http.auth import MOST_KNOWN, RateLimiter

PAUSES = st.lists(st.floats(min_value=0, max_value=90, allow_nan=False), max_size=60)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(per_minute=st.integers(1, 40), pauses=PAUSES)
@example(per_minute=1, pauses=[0.0, 59.9, 0.1])
def test_no_minute_lets_more_requests_pass_than_the_limit_and_the_budget_refills(
    per_minute: int, pauses: list[float]
):
    clock = Clock()
    pace = RateLimiter(per_minute, clock)
    passed: list[float] = []

    for pause in pauses:
        clock.now += pause
        if not pace.take("mira"):
            passed.append(clock.now)

    for at, first in enumerate(passed):
        for upto, last in enumerate(passed[at:], 1):
            assert upto <= per_minute * (1 + (last - first) / 60) + 1e-6


@given(per_minute=st.integers(1, 40), pauses=PAUSES)
@example(per_minute=1, pauses=[1.725083227851961, 0.0])
def test_a_request_passes_after_the_announced_wait(per_minute: int, pauses: list[float]):
    clock = Clock()
    pace = RateLimiter(per_minute, clock)

    for pause in pauses:
        clock.now += pause
        if wait := pace.take("mira"):
            clock.now += wait
            assert pace.take("mira") == 0


def test_one_caller_over_the_limit_does_not_affect_another():
    pace = RateLimiter(2, Clock())

    assert [bool(pace.take("mira")) for _ in range(3)] == [False, False, True]
    assert [bool(pace.take("tomas")) for _ in range(3)] == [False, False, True]


def test_only_the_most_recent_callers_are_remembered():
    pace = RateLimiter(1, Clock())

    for who in range(MOST_KNOWN * 2):
        pace.take(who)

    assert pace.take(MOST_KNOWN * 2 - 1) > 0
    assert pace.take(0) == 0
