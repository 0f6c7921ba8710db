"""A day's log, added to on two devices: all that either says, by the time of day."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.markdown.merging.three_way import merge

BASE = b"## Log\n\n- 09:00 up\n"

times = st.lists(st.integers(9 * 60 + 1, 23 * 60), max_size=5, unique=True).map(sorted)


def log(*said: str, base: bytes = BASE) -> bytes:
    return base + "".join(f"- {line}\n" for line in said).encode()


def lines(raw: bytes | None) -> list[str]:
    assert raw is not None
    return re.findall(r"^- (.*)$", raw.decode(), re.MULTILINE)


@pytest.mark.scenario("G113")
def test_log_entries_of_two_devices_are_sorted_by_time() -> None:
    laptop = log("20:31 tea", "20:33 a call", "[x] 21:00 home")
    phone = log("9:05 rain", "20:32 a bus", "20:33 at the stop")

    for one, other in ((laptop, phone), (phone, laptop)):
        assert lines(merge(BASE, one, other).result) == [
            "09:00 up",
            "9:05 rain",
            "20:31 tea",
            "20:32 a bus",
            "20:33 a call",
            "20:33 at the stop",
            "[x] 21:00 home",
        ]


@pytest.mark.scenario("G113")
def test_a_section_that_is_not_a_log_keeps_the_persons_lines_first() -> None:
    merged = merge(BASE, log("20:31 tea", "and cake"), log("a walk", "20:30 rain"))

    assert lines(merged.result) == ["09:00 up", "a walk", "20:30 rain", "20:31 tea", "and cake"]


@pytest.mark.scenario("G113")
@given(times, times)
def test_merged_logs_are_the_same_sorted_set_on_either_device(
    mine: list[int], its: list[int]
) -> None:
    laptop = log(*(f"{at // 60:02}:{at % 60:02} laptop" for at in mine))
    phone = log(*(f"{at // 60:02}:{at % 60:02} phone" for at in its))

    merged = merge(BASE, laptop, phone).result

    assert merged == merge(BASE, phone, laptop).result
    assert lines(merged) == sorted({*lines(laptop), *lines(phone)})
    assert merge(BASE, merged or b"", phone).result == merged
