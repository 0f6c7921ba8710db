"""Fading is arithmetic: it falls with time, rises with reads, and stays between 0 and 1."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.learning import fading
from vault_memory.rules.learning.fading import Vitality

TODAY = date(2026, 5, 26)

days = st.floats(0, 100_000)
types = st.sampled_from([*fading.TYPES, "Identity", "goal", ""])
reads = st.integers(0, 10_000)


@given(days, days, types, reads)
def test_retention_never_rises_with_time(earlier, later, type_, count):
    earlier, later = sorted((earlier, later))

    before = fading.retention(earlier, type_, count)
    after = fading.retention(later, type_, count)

    assert 0 <= after <= before <= 1


@given(st.floats(0.1, 3_000), types, reads, st.integers(1, 1_000))
def test_an_item_that_is_read_more_often_fades_more_slowly(days, type_, count, more):
    rarely = fading.retention(days, type_, count)
    often = fading.retention(days, type_, count + more)

    assert often >= rarely
    assert fading.stability(type_, count + more) > fading.stability(type_, count)


def test_ten_reads_make_an_identity_last_803_days():
    assert round(fading.stability("identity", 10)) == 803
    assert round(fading.retention(200, "identity", 10), 2) == 0.78


ORDER = ("active", "stale", "archived", "deleted")


@given(days, days, types, reads)
def test_a_state_never_turns_back_with_time(earlier, later, type_, count):
    earlier, later = sorted((earlier, later))

    before = fading.state(earlier, type_, count)
    after = fading.state(later, type_, count)

    assert ORDER.index(before) <= ORDER.index(after)


@every(
    ("days", "type_", "state"),
    [
        (0, "ephemeral", "active"),
        (3, "ephemeral", "active"),
        (4, "ephemeral", "stale"),
        (7, "ephemeral", "archived"),
        (14, "ephemeral", "deleted"),
        (144, "event", "active"),
        (145, "event", "stale"),
        (174, "event", "stale"),
        # A retention of 0.23, and stale for more than 30 days.
        (175, "event", "archived"),
        (439, "identity", "active"),
        (-5, "ephemeral", "active"),
    ],
)
def test_an_item_goes_through_its_states_on_these_days(days, type_, state):
    assert fading.state(days, type_, 0) == state


@given(st.integers(0, 4_000), types, reads)
def test_an_item_that_is_not_active_was_learned_before_the_limit(ago, type_, count):
    vitality = Vitality(type_, TODAY - timedelta(days=ago), count)

    if fading.state_on(vitality, TODAY) != "active":
        assert vitality.last <= fading.stale_before(type_, TODAY)


@given(
    st.integers(0, 4_000),
    types.filter(lambda type_: fading.type_of(type_) not in fading.LASTING),
    st.integers(0, 50),
    st.integers(1, 200),
)
def test_an_item_is_purged_so_many_days_after_it_was_deleted(ago, type_, count, wait):
    vitality = Vitality(type_, TODAY - timedelta(days=ago), count)

    purged = fading.purged_on(vitality, wait)

    assert purged is not None
    deleted = purged - timedelta(days=wait)
    the_day_before = deleted - timedelta(days=1)
    assert fading.state_on(vitality, deleted) == "deleted"
    assert fading.state_on(vitality, the_day_before) != "deleted"


@given(days, st.sampled_from(["identity", "relationship", "Identity"]))
def test_who_a_person_is_and_knows_becomes_stale_and_never_leaves(ago, type_):
    assert fading.state(ago, type_, 0) in ("active", "stale")
    vitality = Vitality(fading.type_of(type_), TODAY)
    assert fading.purged_on(vitality, 1) is None


def test_nothing_is_purged_unless_the_user_sets_a_time():
    vitality = Vitality("ephemeral", TODAY - timedelta(days=9_999))

    assert fading.purged_on(vitality, 0) is None


@given(days)
def test_recency_is_a_share(days):
    assert 0 < fading.recency(days) <= 1
    assert fading.recency(0) == 1


@given(
    types,
    st.sampled_from(["user", "dated", "transcript"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_importance_is_a_share(type_, kind, confirmed, by_person, support):
    value = fading.importance(
        type_, kind, confirmed=confirmed, by_person=by_person, support=support
    )

    assert 0 < value <= 1


@every(
    ("type_", "kind", "confirmed", "by_person", "support", "value"),
    [
        ("identity", "dated", False, False, 1, 0.9),
        ("identity", "dated", True, True, 1, 1.0),
        ("ephemeral", "dated", False, False, 1, 0.1),
        ("ephemeral", "dated", False, False, 10, 0.2),
        ("ephemeral", "dated", False, False, 1_000, 0.2),
        ("ephemeral", "user", False, True, 1, 0.9),
        ("goal", "note", False, False, 0, 0.3),
    ],
)
def test_importance_adds_up_as_documented(type_, kind, confirmed, by_person, support, value):
    assert fading.importance(
        type_, kind, confirmed=confirmed, by_person=by_person, support=support
    ) == pytest.approx(value)
