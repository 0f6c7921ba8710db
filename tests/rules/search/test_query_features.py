"""What a query says beside its words: days, who, when, how many."""

from datetime import date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.search import date_expressions, query_features, scoring
from vault_memory.rules.search.date_expressions import Days

NOW = datetime(2024, 6, 15, 12, 0)  # a Saturday


def days(first: str, last: str = "") -> Days:
    return Days(date.fromisoformat(first), date.fromisoformat(last or first))


@every(
    ("query", "named"),
    [
        ("what happened on 2023-05-08?", [days("2023-05-08")]),
        ("on 8 May, 2023", [days("2023-05-08")]),
        ("on May 8th, 2023", [days("2023-05-08")]),
        ("in May 2023", [days("2023-05-01", "2023-05-31")]),
        ("in March", [days("2024-03-01", "2024-03-31")]),
        ("in December", [days("2023-12-01", "2023-12-31")]),
        ("in 2022", [days("2022-01-01", "2022-12-31")]),
        ("am 8. Mai 2023", [days("2023-05-08")]),
        ("el 8 de mayo de 2023", [days("2023-05-08")]),
        ("8 мая 2023 года", [days("2023-05-08")]),
        ("2023年5月8日", [days("2023-05-08")]),
        ("2023年5月", [days("2023-05-01", "2023-05-31")]),
        ("13.5.2023", [days("2023-05-13")]),
        ("3/5/2023", [days("2023-05-03"), days("2023-03-05")]),
        ("what did I say yesterday?", [days("2024-06-14")]),
        ("was war gestern?", [days("2024-06-14")]),
        ("last week", [days("2024-06-03", "2024-06-09")]),
        ("last month", [days("2024-05-01", "2024-05-31")]),
        ("la semana pasada", [days("2024-06-03", "2024-06-09")]),
        ("letztes Jahr", [days("2023-01-01", "2023-12-31")]),
        ("three days ago", [days("2024-06-12")]),
        ("may I ask you something?", []),
        ("30 February 2023", []),
        ("12345 and 99.99.2023", []),
        ("", []),
    ],
)
def test_days_named_in_a_query_are_recognised(query, named):
    assert list(date_expressions.named(query, now=NOW)) == named


@given(st.text())
@example("9999-12-31 tomorrow")
@example("0 ago ٣ may")
def test_any_text_is_searched_for_days_without_an_error(text):
    for at in (NOW, datetime.max, datetime.min):
        for found in date_expressions.named(text, now=at):
            assert found.first <= found.last
            found.near()


@every(
    "query",
    [
        "When did it rain?",
        "Wann war das?",
        "Quand ?",
        "¿Cuándo?",
        "Когда?",
        "塔是什么时候建的",
        "いつですか",
        "언제",
    ],
)
def test_a_question_about_a_time_is_recognised(query):
    assert query_features.asks_when(query)
    assert not query_features.asks_when("Who has the key? Whenever")


@every(
    "query", ["How many cats?", "Wie viele Katzen?", "Combien ?", "Сколько?", "有多少只猫", "กี่คน"]
)
def test_a_question_about_a_number_is_recognised(query):
    assert query_features.asks_how_many(query)
    assert not query_features.asks_how_many("Who has the key?")


@every("text", ["I went there last Friday", "seit 2019", "im Januar", "昨天下雨了", "вчера"])
def test_a_time_word_in_a_text_is_recognised(text):
    assert query_features.has_time_word(text)
    assert not query_features.has_time_word("I like tea")


def test_a_number_in_a_block_id_is_not_a_number_of_the_text():
    asked = query_features.asked("How many cats?", ())

    assert query_features.of_text("- three cats ^D1-3", asked, scoring.WEIGHTS) == {
        "number": scoring.WEIGHTS.number
    }
    assert query_features.of_text("- some cats ^D1-3", asked, scoring.WEIGHTS) == {}
    assert query_features.of_text("- dogs? ^D1-3", asked, scoring.WEIGHTS) == {
        "question": scoring.WEIGHTS.question
    }


def test_a_speaker_is_recognised_by_part_of_the_name():
    asked = query_features.asked("What did Ann's sister say?", ())

    assert query_features.names_speaker("Ann Lee", asked.names)
    assert not query_features.names_speaker("Anna", asked.names)
    assert not query_features.names_speaker("", asked.names)


@every(
    ("text", "part"),
    [
        ("- **Ann**: Where is the ladder? ^b1", -0.5),
        ("- **Ann**: Behind the shed. ^b1", None),
        ("- The half. Or it?", pytest.approx(-0.5 * 6 / 15)),
        ("梯子在哪里？", -0.5),
        ("?", -0.5),
    ],
)
def test_the_question_score_is_the_share_of_questions_in_a_text(text, part):
    asked = query_features.asked("the kettle", ())

    assert query_features.of_text(text, asked, scoring.WEIGHTS).get("question") == part


def test_a_chunk_that_repeats_the_question_scores_lower():
    asked = query_features.asked("ladder", ())
    weights = scoring.WEIGHTS

    again = query_features.of_text("- **Ann**: Where is the ladder? ^b1", asked, weights)

    assert again == {"question": weights.question + weights.asked_again}
