"""The sum by which chunks are put in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.memory import ranking

scores = st.dictionaries(st.integers(0, 30).map(lambda at: ranking.place(at // 10, at % 10)), st.floats(0.01, 20))


@given(st.integers(0, 2**31), st.integers(0, 100_000))
def test_a_place_is_a_note_and_a_number_in_it(note, ordinal):
    assert ranking.split(ranking.place(note, ordinal)) == (note, ordinal)
    assert ranking.place(note, ordinal) + 1 == ranking.place(note, ordinal + 1)
    assert ranking.split(ranking.place(note, 0) - 2)[0] == note


@given(st.lists(scores, max_size=5))
def test_no_term_of_the_words_is_above_one(by_word):
    terms = ranking.text_terms(by_word)

    assert all(0 <= value <= 1.0000001 for found in terms.values() for value in found)
    if any(by_word):
        assert max(found[0] for found in terms.values()) == pytest.approx(1)


def test_a_chunk_beside_the_words_is_found_too_and_one_of_another_note_is_not():
    terms = ranking.text_terms([{ranking.place(1, 0): 3.0}])

    assert terms[ranking.place(1, 0)][0] > terms[ranking.place(1, 1)][0] > terms[ranking.place(1, 2)][0] > 0
    assert not {note for note, _ in map(ranking.split, terms)} - {1}


def test_different_words_beside_count_more_than_the_same_word_again():
    here, there = ranking.place(1, 5), ranking.place(2, 5)
    terms = ranking.text_terms([{here: 1.0, there: 1.0, there + 1: 1.0}, {here + 1: 1.0}])

    assert terms[here][0] > terms[there][0]


def test_a_note_with_more_of_the_words_is_more_about_them():
    terms = ranking.text_terms([{ranking.place(1, 0): 1.0, ranking.place(2, 0): 1.0}, {ranking.place(1, 9): 1.0}])

    assert terms[ranking.place(1, 0)][1] > terms[ranking.place(2, 0)][1]


def test_of_several_questions_the_one_that_a_chunk_answers_best_counts():
    place = ranking.place(1, 1)

    assert ranking.fused([{place: (0.2, 0.2, 0.2)}, {place: (0.9, 0.1, 0.9)}])[place] == (0.9, 0.1, 0.9)


@given(st.lists(st.floats(-1, 1), min_size=1))
def test_cosines_are_brought_to_one_scale(values):
    scale = ranking.scaled(values)

    assert all(ranking.LOWEST <= scale(value) <= 1.0000001 for value in values)


def test_what_stands_beside_counts_half_in_the_mean():
    places = [ranking.place(1, 0), ranking.place(1, 1), ranking.place(1, 3), ranking.place(2, 0)]

    assert ranking.means_beside(places, [0.9, 0.3, 0.5, 0.1]) == pytest.approx([0.7, 0.5, 0.5, 0.1])
