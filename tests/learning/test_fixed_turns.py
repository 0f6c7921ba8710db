"""A fixed set of turns in six languages: what is kept of it, how right, and what must not be.

Half of the set is not to be kept. No figure below may get worse.
"""

from collections.abc import Iterator

import pytest

from tests.effort import FULL, some
from tests.in_memory import folder_in_memory
from tests.learning.turns.measuring import LANGUAGES, FixedTurn, Measured, measure, turns_of
from tests.models.scripted import Asked, ScriptedModel, Sent, completion

SET = tuple(turn for language in LANGUAGES for turn in some(turns_of(language)))

LEAST_KEPT = 0.60 if FULL else 0.58
"""Share of the statements to be kept, measured of all turns, and of those that a short run takes"""
LEAST_RIGHT = 0.97
"""Share of the lines that are right"""
MOST_UNWANTED = 0
"""Turns of which nothing is to be kept and something is"""
MOST_UNWANTED_BY_A_MODEL = 0
"""The same with a small model that keeps everything but questions"""
LEAST_KEPT_BY_A_MODEL = 0.88 if FULL else 0.72
"""A guard: what keeps out the unwanted turns must not keep out the others"""


@pytest.fixture(scope="module")
def by_rules() -> dict[str, Measured]:
    with folder_in_memory() as folder:
        return measure(SET, folder)


def test_the_set_has_forty_turns_of_each_language_and_half_is_not_to_be_kept() -> None:
    for language in LANGUAGES:
        turns = turns_of(language)
        assert len(turns) == 40
        assert sum(bool(turn.reason) for turn in turns) == 20
        assert all(bool(turn.reason) != bool(turn.keep) for turn in turns)
        for statement in (entry for turn in turns for entry in turn.keep):
            assert statement.kind


@pytest.mark.sampled
def test_phrases_alone_keep_the_measured_share_of_statements(by_rules: dict[str, Measured]) -> None:
    kept = sum(counts.kept for counts in by_rules.values())
    statements = sum(counts.statements for counts in by_rules.values())

    assert kept >= LEAST_KEPT * statements, (kept, statements)


def test_the_lines_of_phrases_alone_are_right_in_the_measured_share(
    by_rules: dict[str, Measured],
) -> None:
    right = sum(counts.right for counts in by_rules.values())
    lines = sum(counts.lines for counts in by_rules.values())

    assert lines
    assert right >= LEAST_RIGHT * lines, [
        (turn.text, line) for counts in by_rules.values() for turn, line in counts.wrong
    ]


def test_phrases_alone_keep_no_more_unwanted_turns_than_measured(
    by_rules: dict[str, Measured],
) -> None:
    unwanted = set(_unwanted(by_rules))

    assert len(unwanted) <= MOST_UNWANTED, unwanted


def says_yes(asked: Asked) -> Sent:
    """Answers as a model of half a billion parameters: it keeps everything but questions."""
    if "relationship" in asked.system:
        return Sent(200, completion("context"))
    is_question = asked.message.rstrip().endswith(("?", "？"))
    return Sent(200, completion("No" if is_question else "Yes"))


@pytest.fixture(scope="module")
def by_a_small_model() -> dict[str, Measured]:
    with folder_in_memory() as folder, ScriptedModel(says_yes) as model:
        counts = measure(
            SET,
            folder,
            BRAIN_KIND="openai",
            BRAIN_BASE_URL=model.url,
            BRAIN_MODEL="small",
            BRAIN_MODE="labels",
        )
        assert model.asked
    return counts


@pytest.mark.sampled
def test_a_small_model_that_keeps_everything_keeps_no_more_than_measured(
    by_a_small_model: dict[str, Measured],
) -> None:
    unwanted = set(_unwanted(by_a_small_model))

    assert len(unwanted) <= MOST_UNWANTED_BY_A_MODEL, unwanted


def test_a_small_model_keeps_the_measured_share_of_statements(
    by_a_small_model: dict[str, Measured],
) -> None:
    kept = sum(counts.kept for counts in by_a_small_model.values())
    statements = sum(counts.statements for counts in by_a_small_model.values())

    assert kept >= LEAST_KEPT_BY_A_MODEL * statements, (kept, statements)


def _unwanted(counts: dict[str, Measured]) -> Iterator[FixedTurn]:
    for measured in counts.values():
        for turn, _ in measured.unwanted:
            yield turn
