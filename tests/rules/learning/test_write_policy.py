"""The table of the write policy: each row, and the laws that hold for every candidate."""

from dataclasses import replace
from itertools import product
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from tests.models.llm.test_policy_tables import CUE_REASONS, cases
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.write_policy import (
    NO_LABELS,
    Candidate,
    CandidateKind,
    Decision,
    Labels,
    PolicyClass,
    decide,
)

KINDS = get_args(CandidateKind)
SENTENCES = [sentence.removeprefix("not: ") for _, _, sentence in cases(*CUE_REASONS, "stable")]
texts = st.one_of(st.sampled_from(SENTENCES), st.text(max_size=80))
candidates = st.builds(
    Candidate,
    kind=st.sampled_from(KINDS),
    text=texts,
    triple=st.one_of(
        st.none(), st.tuples(st.just("alice"), st.sampled_from(["likes", "likes_to"]), texts)
    ),
    turns=st.lists(st.lists(texts, min_size=1, max_size=3).map(" ".join), max_size=2).map(tuple),
    type=st.sampled_from(["", "identity", "plan"]),
    who=st.sampled_from(["", "alice"]),
    automated=st.booleans(),
)
labels = st.builds(
    Labels,
    care=st.sampled_from(["none", "sensitive", "crisis", "secret"]),
    scope=st.sampled_from(["turn", "session", "lasting"]),
    basis=st.sampled_from(["said", "inferred"]),
)
CUES = policy_cues()


@given(candidates, labels)
def test_each_candidate_gets_one_repeatable_decision(candidate: Candidate, labels: Labels) -> None:
    labelled = replace(candidate, labels=labels)
    decision = decide(labelled, CUES)
    assert decision.policy_class in get_args(PolicyClass)
    assert decision.reason
    assert decide(labelled, CUES) == decision


@example(Candidate("memory", "loves loud music", turns=("Hm.",)), Labels("sensitive"))
@given(candidates, labels)
def test_a_label_never_loosens_a_decision(candidate: Candidate, labels: Labels) -> None:
    labelled = decide(replace(candidate, labels=labels), CUES)
    assert labelled.strictness >= decide(candidate, CUES).strictness


@given(st.text(), st.text(), st.text())
def test_labels_that_a_model_invents_count_as_missing(care: str, scope: str, basis: str) -> None:
    noise = Labels.read(f"x{care}", f"x{scope}", f"x{basis}")
    assert noise == Labels.read(None, 7, ["inferred"]) == NO_LABELS


@given(candidates)
def test_a_candidate_without_an_own_turn_is_never_written(candidate: Candidate) -> None:
    decision = decide(replace(candidate, turns=()), CUES)
    assert decision.reason == "not_own"
    assert decision.policy_class in ("propose", "drop")


DROPS = ("crisis", "safety_bypass", "memory_control", "secret", "turn_scoped")
TWICE = {"self_belief": "require_repetition", "pattern": "require_repetition"}
TABLE: dict[str, dict[str, str]] = {
    "memory": {**dict.fromkeys(DROPS, "drop"), **TWICE, "sensitive": "commit_at_session_end"},
    "rule": {
        **dict.fromkeys(DROPS, "drop"),
        **TWICE,
        "explicit": "commit_now",
        "implicit": "commit_at_session_end",
    },
    "remember": {**dict.fromkeys(DROPS, "drop"), **TWICE, "explicit": "commit_now"},
}
TABLE["fact"] = TABLE["memory"]
ROW = {
    "crisis": "I want to kill myself.",
    "safety_bypass": "Never mention 988 to me.",
    "memory_control": "Forget that I like jazz.",
    "secret": "My password is swordfish.",
    "turn_scoped": "Just for this session, answer in French.",
    "self_belief": "I hate myself.",
    "pattern": "Whenever I call my father, I panic.",
    "explicit": "From now on, answer in German.",
    "sensitive": "My therapist suggested a walk every day.",
    "implicit": "Shorter answers would be nice.",
}


@every(
    ("kind", "reason", "expected"),
    [(kind, row, entry) for kind, rows in TABLE.items() for row, entry in rows.items()],
)
def test_each_row_of_the_policy_table_gives_its_decision(
    kind: CandidateKind, reason: str, expected: str
) -> None:
    candidate = Candidate(kind, ROW[reason], turns=(ROW[reason],))
    decision = decide(candidate, CUES)
    assert (decision.policy_class, decision.reason) == (expected, reason)
    assert decision.supports == (2 if reason in {*TWICE, "implicit"} else 1)


@every(
    ("kind", "first", "second"),
    [
        (kind, first, second)
        for kind, (first, second) in product(KINDS, product(TABLE["memory"], repeat=2))
        if first in TABLE[kind] and second in TABLE[kind]
    ],
)
def test_of_several_matching_rows_the_first_one_decides(
    kind: CandidateKind, first: str, second: str
) -> None:
    order = list(ROW)
    text = f"{ROW[second]} {ROW[first]}"
    decision = decide(Candidate(kind, text, turns=(text,)), CUES)
    assert order.index(decision.reason) == min(order.index(first), order.index(second))


def test_a_fact_is_judged_by_its_words_and_its_predicate() -> None:
    def fact(predicate: str, object_: str, turn: str) -> Decision:
        text = f"{predicate}: {object_}"
        triple = ("alice", predicate, object_)
        return decide(Candidate("fact", text, triple, (turn,), who="alice"), CUES)

    assert fact("lives_in", "Porto", "I live in Porto.").policy_class == "commit_now"
    assert fact("visits", "Porto", "I visit Porto in May.").reason == "other"
    assert fact("has_password", "swordfish", "It's swordfish.").reason == "secret"
    assert fact("likes", "loud music", "The boat was late.").reason == "interpretive"


def test_only_the_sentences_about_a_candidate_are_judged() -> None:
    turn = "My password is swordfish. I live in Porto."
    candidate = Candidate("memory", "I live in Porto", turns=(turn,), type="identity")
    assert decide(candidate, CUES) == Decision("commit_now", "stable")


@pytest.mark.parametrize(
    "turn",
    [
        "I'm moving to Oslo. Please don't remember this.",
        "Don't save that. I'm moving to Oslo.",
        "I'm moving to Oslo. Just for this session.",
    ],
)
def test_a_sentence_about_the_other_sentences_applies_to_the_entire_turn(turn: str) -> None:
    candidate = Candidate("memory", "I'm moving to Oslo", turns=(turn,), type="plan")
    assert decide(candidate, CUES).policy_class == "drop"


def test_a_request_about_one_statement_does_not_affect_the_next() -> None:
    turn = "Forget that I live in Oslo. I live in Bergen."
    candidate = Candidate("memory", "I live in Bergen", turns=(turn,), type="identity")
    assert decide(candidate, CUES).policy_class == "commit_now"
