"""The begin at the end of a value, and memories that say no more than a fact."""

from datetime import date

from tests.every import every
from vault_memory.rules.learning import attribute_values
from vault_memory.rules.learning.attribute_values import is_date, says_no_more, split_begin
from vault_memory.rules.learning.candidate import FoundFact

DAY = date(2026, 5, 25)


@every(
    ("text", "value", "since"),
    [
        ("Porto in March 2019", "Porto", "in March 2019"),
        ("Porto, since 2019", "Porto", "since 2019"),
        ("Porto seit Anfang Mai", "Porto", "seit Anfang Mai"),
        ("Porto May 2019", "Porto", "May 2019"),
        ("Porto on 2019-03-01", "Porto", "on 2019-03-01"),
        ("Porto 2019-03", "Porto", "2019-03"),
        ("EE. UU. desde el 3 de mayo de 2020", "EE. UU.", "desde el 3 de mayo de 2020"),
        ("Porto on March 3rd", "Porto", "on March 3rd"),
        ("Porto May", "Porto May", ""),
        ("Porto", "Porto", ""),
        ("room 12", "room 12", ""),
        ("the 1850 house", "the 1850 house", ""),
        ("", "", ""),
        # A value that is only a date stays as it is.
        ("in March 2019", "in March 2019", ""),
        ("May 2019", "May 2019", ""),
        ("seit 2019", "seit 2019", ""),
        ("2019-03-01", "2019-03-01", ""),
        ("desde el 3 de mayo de 2020", "desde el 3 de mayo de 2020", ""),
        ("au mois de mars 2019", "au mois de mars 2019", ""),
    ],
)
def test_a_date_at_the_end_of_a_value_is_its_begin(text: str, value: str, since: str) -> None:
    assert split_begin(text) == (value, since)


@every(
    ("words", "is_a_date"),
    [
        ("in may", True),
        ("may", False),
        ("May 2019", True),
        ("2019", True),
        ("1850", False),
        ("12", False),
        ("in 12", False),
        ("3rd of March", True),
        ("2019-13-01", False),
        ("in Porto 2019", False),
        ("von Mai", False),
    ],
)
def test_words_are_a_date_by_a_month_or_a_year(words: str, is_a_date: bool) -> None:
    assert is_date(words.split()) is is_a_date


@every(
    ("since", "first"),
    [
        ("in March 2019", date(2019, 3, 1)),
        ("since 2019", date(2019, 1, 1)),
        ("au mois de mars 2020", date(2020, 3, 1)),
        ("on 2019-03-07", date(2019, 3, 7)),
        ("yesterday", date(2026, 5, 24)),
        ("some day", None),
        ("", None),
    ],
)
def test_a_begin_in_words_has_a_first_day(since: str, first: date | None) -> None:
    assert attribute_values.first_day(since, DAY) == first


def fact(object: str, predicate: str = "lives_in", **more: object) -> FoundFact:
    return FoundFact("Bo", predicate, object, **more)  # type: ignore[arg-type]


@every(
    ("text", "facts", "phrases", "no_more"),
    [
        ("Bo lives in Bergen", [fact("Bergen")], {"lives", "live"}, True),
        ("Bo dwells in Bergen", [fact("Bergen")], {"lives"}, True),
        ("Bo lives in Bergen alone", [fact("Bergen")], {"lives"}, False),
        ("Bo dwells happily in Bergen", [fact("Bergen")], {"lives"}, False),
        ("Bo, Bergen", [fact("Bergen")], set(), True),
        ("Bo lives in Bergen and Porto", [fact("Bergen"), fact("Porto")], {"lives"}, True),
        ("Bo lives in Bergen and Porto", [fact("Bergen")], {"lives"}, False),
        ("Bo lives in Bergen, 2019", [fact("Bergen", valid_from="2019-01-01")], {"lives"}, True),
        ("Bo lives in Bergen, 2019", [fact("Bergen")], {"lives"}, False),
        ("我住在上海", [fact("上海")], {"我住在"}, True),
        ("我住在上海每天去海边跑步", [fact("上海")], {"我住在"}, False),
    ],
)
def test_a_text_says_no_more_than_a_fact_but_for_the_words_of_its_predicate(
    text: str, facts: list[FoundFact], phrases: set[str], no_more: bool
) -> None:
    assert says_no_more(text, facts, frozenset(phrases)) is no_more


def test_words_for_the_person_are_no_other_words() -> None:
    text = "The user dwells in Bergen"

    assert not says_no_more(text, [fact("Bergen")], frozenset())
    assert says_no_more(text, [fact("Bergen")], frozenset(), frozenset({"user"}))
