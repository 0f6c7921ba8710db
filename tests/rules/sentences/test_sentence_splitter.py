"""Sentences: a point inside a sentence ends none, and each sentence is a part of its text."""

import tomllib
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.sentences.sentence_splitter import (
    sentence_spans,
    split_sentences,
    without_end,
)

TURNS = tomllib.loads((Path(__file__).parent / "sentences.toml").read_text(encoding="utf-8"))
WHOLE = [sentence for table in TURNS.values() for sentence in table["whole"]]
SEVERAL = [turn for table in TURNS.values() for turn in table["several"]]


@every("sentence", WHOLE)
def test_a_point_inside_a_sentence_does_not_end_it(sentence: str) -> None:
    assert split_sentences(sentence) == [sentence]
    assert split_sentences(f"{sentence}.") == [f"{sentence}."]


@every("sentence", WHOLE)
def test_another_sentence_after_it_is_a_sentence_of_its_own(sentence: str) -> None:
    assert split_sentences(f"Hello!\n{sentence}!\nThe end.") == [
        "Hello!",
        f"{sentence}!",
        "The end.",
    ]


@every("turn", SEVERAL, ids=" ".join)
def test_a_point_before_the_next_sentence_ends_one(turn: list[str]) -> None:
    assert split_sentences(" ".join(turn)) == turn


def test_the_marker_of_a_list_is_no_part_of_its_sentence() -> None:
    text = "1. Always answer briefly.\n2) Never call.\n- Tea is fine.\n5. June is free."

    assert split_sentences(text) == [
        "Always answer briefly.",
        "Never call.",
        "Tea is fine.",
        "5. June is free.",
    ]


@every(
    ("sentence", "words"),
    [
        ("Never ship to the U.S.", "Never ship to the U.S."),
        ("I work at Acme Inc.", "I work at Acme Inc."),
        ("Ich mag Obst usw.", "Ich mag Obst usw."),
        ("Я люблю чай и т.д.", "Я люблю чай и т.д."),
        ("Answer briefly.", "Answer briefly"),
        ("我喜欢茶。", "我喜欢茶"),
    ],
)
def test_the_point_of_an_abbreviation_stays_at_the_end(sentence: str, words: str) -> None:
    assert without_end(sentence) == words


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WHOLE)).map(". ".join)))
@example("...")
@example("1. 1. 1. a")
def test_the_sentences_of_a_text_are_all_of_it(text: str) -> None:
    spans = list(sentence_spans(text))

    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    left_out = text
    for start, end in spans:
        assert start <= end
        left_out = left_out.replace(text[start:end], "", 1)
    # Only markers of lists are left out.
    assert not any(char.isalpha() for char in left_out)
