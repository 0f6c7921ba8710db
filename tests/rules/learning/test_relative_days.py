"""Words such as "tomorrow" become calendar days, from the day on which they were said."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.learning.day_words import all_groups
from vault_memory.rules.learning.relative_days import resolve_days

MONDAY = date(2026, 5, 25)
SAID = {
    "I fly to Oslo tomorrow": "I fly to Oslo 2026-05-26",
    "the day after tomorrow we move": "2026-05-27 we move",
    "We met last Saturday": "We met 2026-05-23",
    "This Friday I sing": "2026-05-29 I sing",
    "In three weeks I start at Acme": "2026-06-15 I start at Acme",
    "I quit two years ago": "I quit 2024",
    "next week I am away": "2026-06-01 – 2026-06-07 I am away",
    "Bob sends the draft by Friday": "Bob sends the draft by 2026-05-29",
    "last summer was hot": "summer 2025 was hot",
    "Ich fliege übermorgen nach Oslo": "Ich fliege 2026-05-27 nach Oslo",
    "Morgen fahre ich weg": "2026-05-26 fahre ich weg",
    "Am Morgen trinke ich Tee": "Am Morgen trinke ich Tee",
    "vor drei Monaten": "2026-02",
    "nächsten Donnerstag": "2026-05-28",
    "bis Freitag": "bis 2026-05-29",
    "Je pars après-demain": "Je pars 2026-05-27",
    "vendredi prochain": "2026-05-29",
    "il y a deux semaines": "2026-05-11",
    "Viajo pasado mañana": "Viajo 2026-05-27",
    "mañana por la mañana": "2026-05-26 por la mañana",
    "hace dos semanas": "2026-05-11",
    "Послезавтра я улетаю": "2026-05-27 я улетаю",
    "через неделю": "2026-06-01",
    "в прошлую субботу": "2026-05-23",
    "明年春天我要搬到北京": "2027年春天我要搬到北京",
    "下周五我去上海": "2026-06-05我去上海",
    "三天后出发": "2026-05-28出发",
}


@every("words", SAID)
def test_a_relative_day_becomes_a_calendar_day(words: str) -> None:
    assert resolve_days(words, MONDAY).text == SAID[words]


@every(
    "words",
    [
        "Next Friday we marry",
        "next summer we sail",
        "6月1日之前",
        "Ich arbeite hier",
        "es ist schön hier, wie immer",
    ],
)
def test_ambiguous_words_for_a_day_are_left_unchanged(words: str) -> None:
    assert resolve_days(words, MONDAY).text == words


@every("words", ["in 999 years", "in 99999 days", "999 years ago", "через 999 лет"])
def test_a_day_outside_the_calendar_is_left_unchanged(words: str) -> None:
    for day in (date.min, date.max):
        assert isinstance(resolve_days(words, day).text, str)


@given(st.text(max_size=80), st.dates())
def test_resolving_a_text_twice_changes_nothing(text: str, day: date) -> None:
    resolved = resolve_days(text, day)

    assert resolve_days(resolved.text, day).text == resolved.text


VOCABULARY = sorted({word for said in SAID for word in said.split()})


@given(st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join))
def test_each_expression_for_a_day_has_the_sign_of_its_language(text: str) -> None:
    for group in all_groups():
        for words in group.words:
            assert not words.pattern.search(text) or group.sign.search(text)


@every("words", SAID)
def test_each_example_has_the_sign_of_its_language(words: str) -> None:
    for group in all_groups():
        has_words = any(item.pattern.search(words) for item in group.words)
        assert not has_words or group.sign.search(words)
