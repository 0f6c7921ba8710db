"""The days that a text means: in digits, in words, and as a line says them for good."""

from datetime import UTC, date, datetime

from tests.every import every
from vault_memory.rules.learning import relative_days
from vault_memory.rules.learning.relative_days import days_of, with_calendar_days, with_named_days

NOW = datetime(2026, 5, 25, 12, tzinfo=UTC)
"""A Monday"""


@every(
    ("text", "first", "last"),
    [
        ("2026-05-20", "2026-05-20", "2026-05-20"),
        ("20260520", "2026-05-20", "2026-05-20"),
        ("2026-02", "2026-02-01", "2026-02-28"),
        ("2024-2", "2024-02-01", "2024-02-29"),
        ("2019", "2019-01-01", "2019-12-31"),
        ("2026-05-01 \u2013 2026-05-03", "2026-05-01", "2026-05-03"),
        ("yesterday", "2026-05-24", "2026-05-24"),
        (" yesterday\n", "2026-05-24", "2026-05-24"),
        ("Friday", "2026-05-22", "2026-05-22"),
        ("monday", "2026-05-18", "2026-05-18"),
        ("Sonntag", "2026-05-24", "2026-05-24"),
        ("March 2019", "2019-03-01", "2019-03-31"),
    ],
)
def test_a_text_means_its_days(text: str, first: str, last: str) -> None:
    found = days_of(text, now=NOW)

    assert found is not None
    assert (found.first.isoformat(), found.last.isoformat()) == (first, last)


@every(
    "text",
    ["", "  ", "2026-02-30", "2026-13", "3/4/2023", "boats", "x" * (relative_days.LONGEST + 1)],
)
def test_a_text_without_one_meaning_means_no_days(text: str) -> None:
    assert days_of(text, now=NOW) is None


@every(
    ("text", "named"),
    [
        ("by 1 June", "by 2026-06-01"),
        ("by 24 May", "by 2027-05-24"),
        ("by 25 May", "by 2026-05-25"),
        ("by 24 May 2026", "by 2026-05-24"),
        ("by June 1st, 2025", "by 2025-06-01"),
        ("am 1. Juni", "am 2026-06-01"),
        ("am 1.6.", "am 2026-06-01"),
        ("6月1日去", "2026-06-01去"),
        ("el 1 de junio de 2027", "el 2027-06-01"),
        ("by 31 June", "by 31 June"),
        ("at June 12:30", "at June 12:30"),
        ("am 1.6.2027", "am 2027-06-01"),
        ("am 1.6.26", "am 1.6.26"),
        ("version 1.2.3.", "version 1.2.3."),
    ],
)
def test_a_named_day_becomes_the_next_one_of_the_calendar(text: str, named: str) -> None:
    assert with_named_days(text, date(2026, 5, 25)) == named


def test_a_line_has_the_day_for_good_and_the_words_that_were_said() -> None:
    day = date(2026, 5, 25)

    assert with_calendar_days('I sail "off" tomorrow.', day) == (
        'I sail "off" 2026-05-26 \u2014 "I sail \'off\' tomorrow"'
    )
    assert with_calendar_days("I sail.", day) == "I sail."


def test_the_numbers_of_the_days_are_told() -> None:
    found = relative_days.resolve_days("I sail tomorrow", date(2026, 5, 25))

    assert found.text == "I sail 2026-05-26"
    assert found.numbers == {"2026", "05", "26"}
    assert relative_days.resolve_days("I sail", date(2026, 5, 25)).numbers == frozenset()
