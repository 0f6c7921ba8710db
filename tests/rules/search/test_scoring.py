"""The sum by which chunks are put in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.rules.search import scoring

scores = st.dictionaries(
    st.integers(0, 30).map(lambda at: scoring.place(at // 10, at % 10)),
    st.floats(0.01, 20),
)


@given(st.integers(0, 2**31), st.integers(0, 100_000))
def test_a_place_is_a_note_and_a_number_in_it(note, ordinal):
    assert scoring.split(scoring.place(note, ordinal)) == (note, ordinal)
    assert scoring.place(note, ordinal) + 1 == scoring.place(note, ordinal + 1)
    assert scoring.split(scoring.place(note, 0) - 2)[0] == note


@given(st.lists(scores, max_size=5))
def test_no_term_of_the_words_is_above_one(by_word):
    said = scoring.said(by_word)

    assert all(-1e-9 <= value <= 1.0000001 for part in said for value in part.values())
    if any(by_word):
        assert max(said.text.values()) == pytest.approx(1)


@given(st.lists(scores, max_size=5))
def test_what_the_words_say_is_what_each_says_by_itself_and_to_those_beside_it(by_word):
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


def test_a_chunk_beside_the_words_is_found_too_and_one_of_another_note_is_not():
    text = scoring.said([{scoring.place(1, 0): 3.0}]).text

    assert (
        text[scoring.place(1, 0)]
        > text[scoring.place(1, 1)]
        > text[scoring.place(1, 2)]
        > 0
    )
    assert not {note for note, _ in map(scoring.split, text)} - {1}


def test_different_words_beside_count_more_than_the_same_word_again():
    here, there = scoring.place(1, 5), scoring.place(2, 5)
    text = scoring.said([{here: 1.0, there: 1.0, there + 1: 1.0}, {here + 1: 1.0}]).text

    assert text[here] > text[there]


def test_a_note_with_more_of_the_words_is_more_about_them():
    said = scoring.said(
        [
            {scoring.place(1, 0): 1.0, scoring.place(2, 0): 1.0},
            {scoring.place(1, 9): 1.0},
        ]
    )

    assert said.note[1] > said.note[2]


def test_of_several_questions_the_one_that_a_chunk_answers_best_counts():
    place = scoring.place(1, 1)
    one, other = (
        scoring.QueryTerms({place: text}, {1: note}, {1: best})
        for text, note, best in ((0.2, 0.2, 0.2), (0.9, 0.1, 0.9))
    )

    assert scoring.fused([one, other], [place])[place] == (0.9, 0.1, 0.9)
    assert scoring.fused([], [place]) == {}


@given(st.lists(st.floats(-1, 1), min_size=1))
def test_cosines_are_brought_to_one_scale(values):
    scale = scoring.scaled(values)

    assert all(scoring.LOWEST <= scale(value) <= 1.0000001 for value in values)


def test_what_stands_beside_counts_half_in_the_mean():
    places = [
        scoring.place(1, 0),
        scoring.place(1, 1),
        scoring.place(1, 3),
        scoring.place(2, 0),
    ]

    assert scoring.means_beside(places, [0.9, 0.3, 0.5, 0.1]) == pytest.approx(
        [0.7, 0.5, 0.5, 0.1]
    )
