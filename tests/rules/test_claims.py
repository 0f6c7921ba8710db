"""The tables of words and measures by which claims are compared."""

import pytest

from tests.every import every
from vault_memory.rules.claims.carried_words import carried_share, stems_of
from vault_memory.rules.claims.word_tables import (
    count_negations,
    is_negated,
    weekday_names,
    weekday_number,
    weekdays,
)
from vault_memory.rules.search.tokens import words


@every(
    "negated",
    [
        "I don't eat meat",
        "I do not eat meat",
        "I don’t eat meat",
        "Ich esse kein Fleisch",
        "No como carne",
        "Je ne mange pas de viande",
        "Je n'aime rien",
        "Я не ем мяса",
        "我不吃肉",
    ],
)
def test_a_negation_is_found_in_each_language(negated: str) -> None:
    assert is_negated(negated)
    assert count_negations(negated) == 1


@pytest.mark.parametrize("plain", ["I eat meat", "Ich esse Fleisch", "我吃肉"])
def test_a_plain_statement_is_not_negated(plain: str) -> None:
    assert not is_negated(plain)
    assert count_negations(plain) == 0


def test_may_is_no_negation_within_a_turn() -> None:
    assert not is_negated("Wir fahren im Mai ans Meer")
    assert not is_negated("Nous partons en mai")


def test_each_language_has_seven_weekdays_and_no_name_means_two() -> None:
    assert all(len(days) == 7 for days in weekday_names().values())
    for language, days in weekday_names().items():
        for number, names in enumerate(days):
            for name in names:
                assert weekday_number(language, name.upper()) == number
    assert weekdays()["星期天"] == weekdays()["週日"] == weekdays()["sonntag"] == 6


@every(
    ("statement", "text", "share"),
    [
        ("harbours museums", "the museum of the harbour", 1.0),
        ("harbour castle", "the museum of the harbour", 0.5),
        ("对花生过敏", "我对花生过敏", 1.0),
        ("", "the harbour", 1.0),
    ],
)
def test_other_endings_carry_a_word(statement: str, text: str, share: float) -> None:
    assert carried_share(words(statement), stems_of(words(text))) == share
