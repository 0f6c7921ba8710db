"""A note that is named like the question comes first, and no note takes all places."""

from datetime import UTC, date, datetime

import pytest

from tests.every import every
from tests.search.library import NOW, library, put
from vault_memory.search.query import SearchQuery, search

ME = "user:me"
TALK = "\n".join(
    f"- Session {number}: we spoke about flashcards, how flashcards work, and work on flashcards"
    for number in range(12)
)
NOTES = {
    (
        ME,
        "Study/Flashcards.md",
    ): "# Spaced repetition\n\n- A card comes back after a day, then after a week\n",
    (ME, "Log.md"): f"# Log\n\n{TALK}\n",
    (ME, "Boats/supply-boat.md"): "# Petrel\n\n- Calls at the pier on Thursdays\n",
    (ME, "Boats/other.md"): "- The supply boat was late; the boat came at noon\n",
    (ME, "People/Mira Lumen.md"): "- Keeps the light\n",
    (ME, "People/list.md"): "- Mira Lumen wrote to Mira Lumen's sister; Mira, Lumen\n",
    (ME, "日程.md"): "- 每周四开会\n",
    (ME, "其他.md"): "- 日程很满, 日程又改了\n",
    (ME, "Überweisung.md"): "- Am Ersten des Monats\n",
    (ME, "Bank.md"): "- Die Überweisung kam an, die Überweisung ging zurück\n",
    (ME, "What.md"): "- A note with the name of a question word\n",
}


@pytest.fixture(scope="module")
def index():
    return library(NOTES)


def notes(index, query: str, **more: object) -> list[str]:
    asked = SearchQuery(query, [ME], now=NOW, **more)  # type: ignore[arg-type]
    return [hit.note for hit in search(index, asked).hits]


@every("mode", ["balanced", "keyword"])
@every(
    ("query", "note"),
    [
        ("how do flashcards work", "Study/Flashcards.md"),
        ("what is a flashcard?", "Study/Flashcards.md"),
        ("flashcards", "Study/Flashcards.md"),
        ("when does the supply boat call?", "Boats/supply-boat.md"),
        ("who is Mira Lumen", "People/Mira Lumen.md"),
        ("wann geht die Überweisung?", "Überweisung.md"),
    ],
)
def test_the_note_that_is_named_like_the_question_is_first(
    index, query: str, note: str, mode: str
) -> None:
    assert notes(index, query, mode=mode)[0] == note


def test_a_question_word_names_no_note(index) -> None:
    assert notes(index, "what was the flashcards session?")[0] != "What.md"


def test_a_name_in_another_scope_lifts_nothing() -> None:
    index = library(NOTES)
    put(index, "theirs/flashcards.md", "user:other", "- theirs\n")

    found = search(index, SearchQuery("flashcards", [ME], now=NOW)).hits

    assert all(hit.scope == ME for hit in found)


def test_after_two_lines_of_a_note_another_note_follows(index) -> None:
    found = notes(index, "flashcards work session boat keeps light", limit=6)

    for position in range(len(found) - 2):
        assert len(set(found[position : position + 3])) > 1


def test_the_lines_of_the_only_note_are_all_returned() -> None:
    index = library({(ME, "Log.md"): f"# Log\n\n{TALK}\n"})

    found = search(index, SearchQuery("flashcards", [ME], now=NOW, limit=5, copies=True)).hits

    assert len(found) == 5


@pytest.mark.parametrize(
    "query",
    [
        "what did we eat on 2024-05-20?",
        "what did we eat on 20 May?",
        "was haben wir am 20. Mai gegessen, eat",
    ],
)
def test_the_note_of_the_day_in_the_question_is_first(query: str) -> None:
    index = library({})
    for day in range(1, 29):
        text = "- We eat, and we eat well, and what did we eat: eat soup\n"
        if day == 20:
            text = "- Pancakes at the pier; little to eat\n"
        put(
            index,
            f"2024-05-{day:02}.md",
            ME,
            text,
            kind="dated",
            date=date(2024, 5, day).isoformat(),
        )

    assert notes(index, query)[0] == "2024-05-20.md"


def test_a_label_is_no_speaker_of_the_words_in_the_question() -> None:
    index = library(
        {
            (ME, "How.md"): "- **To find the walrus:**\n- **Walrus and seals**: a list\n",
            (ME, "Orphans.md"): "- An orphan walrus has no herd, find it alone\n",
            (ME, "Ann.md"): "- **Ann Lumen**: nothing new\n",
        }
    )

    found = search(index, SearchQuery("find walrus, and ann", [ME], now=NOW, why=True))

    speakers = {hit.note for hit in found.hits if hit.why and "speaker" in hit.why.terms}
    assert speakers == {"Ann.md"}


DAYS_OF_WORK = {
    day: f"# 2026-05-{day:02}\n\n- Painted boat {day}\n- I did the wash\n" for day in (8, 9, 10, 19)
}


@every(
    "query",
    [
        "what did I do on 9 May 2026",
        "what did I do on May 9, 2026?",
        "what happened on 2026-05-09",
        "was habe ich am 9. Mai 2026 gemacht?",
        "was habe ich am 9. Mai gemacht",
        "qu'est-ce que j'ai fait le 9 mai 2026 ?",
        "¿qué hice el 9 de mayo de 2026?",
        "9 May 2026",
    ],
)
def test_a_question_for_a_day_gets_all_lines_of_that_day_first(query: str) -> None:
    index = library({(ME, "may-plans.md"): "# May\n\n- I did plan the may holiday of 2026\n"})
    for day, text in DAYS_OF_WORK.items():
        date_text = date(2026, 5, day).isoformat()
        put(index, f"{date_text}.md", ME, text, kind="dated", date=date_text)

    asked = SearchQuery(query, [ME], now=datetime(2026, 11, 29, tzinfo=UTC))

    assert [hit.date for hit in search(index, asked).hits[:2]] == ["2026-05-09"] * 2
