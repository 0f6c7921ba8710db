"""Two devices that exchange their ledgers in any order count the same reads."""

from datetime import date, timedelta
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from vault_memory.rules.learning import ledger_lines
from vault_memory.rules.learning.ledger_lines import COUNTS, is_record

FIRST = date(2026, 5, 1)

keys = st.sampled_from(["9f3c1a22d0e4b711", "0000000000000000", "ffffffffffffffff"])
day = st.integers(0, 20).map(lambda number: FIRST + timedelta(days=number))
records = st.builds(
    lambda device, reads: {
        "ts": "2026-05-25T02:00:00+00:00",
        "device": device,
        "reads": {key: [count, str(last)] for key, (count, last) in reads.items()},
    },
    st.sampled_from(["d1", "d2"]),
    st.dictionaries(keys, st.tuples(st.integers(0, 99), day), max_size=3),
)
ledgers = st.lists(records, max_size=4).map(ledger_lines.counts_in)
reads = st.lists(st.tuples(keys, day), max_size=12)


@given(ledgers, ledgers)
def test_it_does_not_matter_which_device_is_read_first(first, second):
    assert ledger_lines.merged(first, second) == ledger_lines.merged(second, first)


@given(ledgers, ledgers, ledgers)
def test_three_devices_may_meet_in_any_order(first, second, third):
    left = ledger_lines.merged(ledger_lines.merged(first, second), third)
    right = ledger_lines.merged(first, ledger_lines.merged(second, third))

    assert left == right


@given(ledgers)
def test_a_ledger_that_arrives_twice_counts_once(ledger):
    assert ledger_lines.merged(ledger, ledger) == ledger


@given(st.lists(records, max_size=6), st.randoms())
def test_the_order_of_lines_does_not_matter(lines, random):
    shuffled = list(lines)
    random.shuffle(shuffled)

    assert ledger_lines.counts_in(lines) == ledger_lines.counts_in(shuffled)


@given(st.lists(reads, max_size=5))
def test_each_day_on_which_an_item_is_read_counts_once(nights):
    counts: ledger_lines.Counts = {}
    # A night folds what was read since the last one, so days never go back.
    days = sorted(chain.from_iterable(nights), key=lambda read: read[1])
    for some in (days[: len(days) // 2], days, days):
        new = ledger_lines.folded(counts, "d1", some)
        record = ledger_lines.as_record("2026-05-25T02:00:00+00:00", "d1", new)
        assert is_record(COUNTS, record)
        counts = ledger_lines.merged(counts, ledger_lines.counts_in([record]))

    expected = {
        key: len({read_day for read_key, read_day in days if read_key == key}) for key, _ in days
    }
    half = {key: count.days for key, count in ledger_lines.totals(counts).items()}
    assert half == expected


def test_the_devices_add_up_and_the_latest_day_counts():
    ledger = ledger_lines.counts_in(
        [
            {"device": "d1", "reads": {"k": [3, "2026-05-25"]}},
            {"device": "d1", "reads": {"k": [2, "2026-05-24"]}},
            {"device": "d2", "reads": {"k": [4, "2026-05-20"]}},
        ]
    )

    assert ledger_lines.totals(ledger) == {"k": ledger_lines.ReadCount(7, "2026-05-25")}
