"""Held candidates: lines merge alike on all devices, and only repetition makes a pattern."""

from dataclasses import replace
from datetime import date
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.rules.learning.ledger_lines import is_record
from vault_memory.rules.learning.policy.held_candidates import (
    STATES,
    HeldCandidate,
    Support,
    held_id,
    is_due,
    is_waiting,
    merged,
    union,
)

ONE = HeldCandidate(
    "9f3c1a22d0",
    "2026-05-25T18:00:00+00:00",
    "held",
    "require_repetition",
    "self_belief",
    "memory",
    "I hate myself",
    supports=frozenset({Support("t1", "s1")}),
    newest="2026-05-25T18:00:00+00:00",
)
supports = st.frozensets(
    st.builds(Support, st.sampled_from(["t1", "t2"]), st.sampled_from(["s1", "s2"])), max_size=3
)
days = st.sampled_from(["2026-05-25T18:00:00+00:00", "2026-06-01T18:00:00+00:00"])
lines = st.builds(
    replace,
    st.just(ONE),
    ts=days,
    newest=days,
    state=st.sampled_from(STATES),
    reason=st.sampled_from(["self_belief", "pattern"]),
    text=st.sampled_from(["I hate myself", "i hate myself!"]),
    line=st.sampled_from(["", "I hate myself (2026-05-25, ref:t1)"]),
    supports=supports,
    withdrawn=st.frozensets(st.sampled_from(["t1", "t2"])),
    audit=st.sampled_from(["", "a1", "a2"]),
)


@given(lines, lines, lines)
def test_lines_of_devices_merge_alike_in_any_order(
    one: HeldCandidate, two: HeldCandidate, three: HeldCandidate
) -> None:
    assert union(one, two) == union(two, one)
    assert union(one, one) == one
    assert union(union(one, two), three) == union(one, union(two, three))
    first, *others = (
        merged(line.as_record() for line in order) for order in permutations([one, two, three])
    )
    assert all(result == first for result in others)


@given(lines)
def test_a_line_is_read_as_it_was_written(line: HeldCandidate) -> None:
    record = line.as_record()
    assert is_record("held", record)
    assert HeldCandidate.read(record) == replace(line, newest=line.ts)


@given(lines, lines)
def test_a_rejection_is_never_lost(one: HeldCandidate, two: HeldCandidate) -> None:
    both = union(one, two)
    assert (both.state == "rejected") == ("rejected" in (one.state, two.state))


def held(policy_class: str, reason: str, *said: tuple[str, str]) -> HeldCandidate:
    return replace(
        ONE,
        policy_class=policy_class,
        reason=reason,
        supports=frozenset(Support(*support) for support in said),
    )


@pytest.mark.parametrize(
    ("said", "due"),
    [
        ([("t1", "s1")], False),
        ([("t1", "s1"), ("t2", "s1"), ("t3", "s1"), ("t4", "s1"), ("t5", "s1")], False),
        ([("t1", "s1"), ("t2", "s2")], True),
    ],
)
def test_one_bad_evening_is_no_pattern(said: list[tuple[str, str]], due: bool) -> None:
    candidate = held("require_repetition", "self_belief", *said)
    assert is_due(candidate, lambda session: True) is due


def test_a_session_must_end_before_its_candidates_are_written() -> None:
    candidate = held("commit_at_session_end", "other", ("t1", "s1"))
    assert not is_due(candidate, lambda session: False)
    assert is_due(candidate, lambda session: session == "s1")


def test_an_interpretation_needs_two_turns_or_an_episode() -> None:
    once = held("commit_at_session_end", "interpretive", ("t1", "s1"))
    twice = held("commit_at_session_end", "interpretive", ("t1", "s1"), ("t2", "s1"))
    assert not is_due(once, lambda session: True)
    assert is_due(once, lambda session: True, has_episode=True)
    assert is_due(twice, lambda session: True)
    assert not is_due(twice, lambda session: False)


def test_a_withdrawn_turn_supports_nothing() -> None:
    said = [("t1", "s1"), ("t2", "s2")]
    candidate = held("require_repetition", "self_belief", *said)
    taken_back = replace(candidate, withdrawn=frozenset({"t2"}))
    assert not is_due(taken_back, lambda session: True)


def test_a_candidate_expires_without_support() -> None:
    assert is_waiting(ONE, date(2026, 8, 23))
    assert not is_waiting(ONE, date(2026, 8, 24))
    assert not is_waiting(replace(ONE, state="rejected"), date(2026, 5, 26))
    assert not is_waiting(replace(ONE, withdrawn=frozenset({"t1"})), date(2026, 5, 26))


def test_a_candidate_has_one_id_in_its_scope_alone() -> None:
    mine = held_id("user:alice", "memory", "I hate myself.")
    assert mine == held_id("user:alice", "memory", "i hate myself")
    assert mine != held_id("user:bob", "memory", "I hate myself.")
    assert mine != held_id("user:alice", "fact", "I hate myself.")
