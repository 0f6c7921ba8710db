"""The sum by which chunks are put in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.rules.search import scoring

scores = st.dictionaries(
    st.integers(0, 30).map(lambda at: scoring.place(at // 10, at % 10)), st.floats(0.01, 20)
)


@given(st.integers(0, 2**31), st.integers(0, 100_000))
def test_a_chunk_position_encodes_its_note_and_its_ordinal(note, ordinal):
    assert scoring.split(scoring.place(note, ordinal)) == (note, ordinal)
    assert scoring.place(note, ordinal) + 1 == scoring.place(note, ordinal + 1)
    assert scoring.split(scoring.place(note, 0) - 2)[0] == note


@given(st.lists(scores, max_size=5))
def test_no_keyword_term_exceeds_one(by_word):
    said = scoring.said(by_word)

    assert all(-1e-9 <= value <= 1.0000001 for part in said for value in part.values())
    if any(by_word):
        assert max(said.text.values()) == pytest.approx(1)


@given(st.lists(scores, max_size=5))
def test_keyword_scores_are_spread_to_neighbouring_chunks_per_word(by_word):
    wanted: dict[int, float] = {}
    for found in by_word:
        for at, score in found.items():
            for step, part in ((0, 1), (1, 0.5), (-1, 0.5), (2, 0.25), (-2, 0.25)):
                again = scoring.AGAIN if step and at + step in found else 1
                wanted[at + step] = wanted.get(at + step, 0.0) + score * part * again

    highest = max(wanted.values(), default=1.0)
    assert scoring.said(by_word).text == pytest.approx(
        {at: score / highest for at, score in wanted.items()}
    )


def test_a_neighbouring_chunk_of_the_same_note_gets_a_smaller_score():
    text = scoring.said([{scoring.place(1, 0): 3.0}]).text

    assert text[scoring.place(1, 0)] > text[scoring.place(1, 1)] > text[scoring.place(1, 2)] > 0
    assert not {note for note, _ in map(scoring.split, text)} - {1}


def test_different_neighbouring_words_count_more_than_a_repeated_word():
    here, there = scoring.place(1, 5), scoring.place(2, 5)
    text = scoring.said([{here: 1.0, there: 1.0, there + 1: 1.0}, {here + 1: 1.0}]).text

    assert text[here] > text[there]


def test_a_note_with_more_of_the_query_words_scores_higher():
    said = scoring.said(
        [{scoring.place(1, 0): 1.0, scoring.place(2, 0): 1.0}, {scoring.place(1, 9): 1.0}]
    )

    assert said.note[1] > said.note[2]


def test_of_several_questions_the_best_score_of_a_chunk_counts():
    place = scoring.place(1, 1)
    one, other = (
        scoring.QueryTerms({place: text}, {1: note}, {1: best})
        for text, note, best in ((0.2, 0.2, 0.2), (0.9, 0.1, 0.9))
    )

    assert scoring.fused([one, other], [place])[place] == (0.9, 0.1, 0.9)
    assert scoring.fused([], [place]) == {}


@given(st.lists(st.floats(-1, 1), min_size=1))
def test_cosines_are_scaled_to_a_common_range(values):
    scale = scoring.scaled(values)

    assert all(scoring.LOWEST <= scale(value) <= 1.0000001 for value in values)


def test_neighbouring_chunks_count_half_in_the_mean():
    places = [scoring.place(1, 0), scoring.place(1, 1), scoring.place(1, 3), scoring.place(2, 0)]

    assert scoring.means_beside(places, [0.9, 0.3, 0.5, 0.1]) == pytest.approx([0.7, 0.5, 0.5, 0.1])
