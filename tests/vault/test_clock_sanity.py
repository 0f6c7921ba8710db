"""What the age of things is told by, when clocks go wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.vault.write.writer import BACK, HOLD, LEAP, Clock

NOW = 1_800_000_000.0
DAY = 86400.0


@given(st.lists(st.floats(-BACK / 2, LEAP)))
def test_a_steadily_running_clock_is_trusted(steps: list[float]) -> None:
    clock = Clock(NOW)
    for step in steps:
        clock = clock.looked(clock.seen + step)
        assert clock.believed


@pytest.mark.scenario("B50")
@given(
    st.floats(LEAP + 1, 1e9) | st.floats(-1e9, -BACK - 1), st.lists(st.floats(0, DAY), max_size=30)
)
def test_after_a_clock_jump_nothing_expires_for_a_week(jump: float, steps: list[float]) -> None:
    clock = Clock(NOW).looked(NOW + jump)
    assert not clock.believed
    for step in steps:
        clock = clock.looked(clock.seen + step)

    assert clock.believed == (clock.seen >= NOW + jump + HOLD)


@pytest.mark.scenario("B50")
@given(st.floats(LEAP + 1, 1e9))
def test_a_clock_that_returns_from_years_ahead_is_trusted_again_within_days(jump: float) -> None:
    clock = Clock(NOW).looked(NOW + jump).looked(NOW + DAY)
    for day in range(9):
        clock = clock.looked(NOW + (2 + day) * DAY)

    assert clock.believed
