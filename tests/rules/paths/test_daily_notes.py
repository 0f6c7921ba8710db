"""Daily notes: found by their names, and written where the person writes them."""

from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.paths.daily_notes import path_of_day, pattern_by_names, pattern_of, render
from vault_memory.rules.paths.layout import Layout, Pattern
from vault_memory.rules.paths.layout_survey import preset
from vault_memory.rules.paths.scope_notes import places_of

DAY = date(2026, 5, 4)
PATTERNS = [
    "{date}.md",
    "Daily/{date}.md",
    "journals/{date:YYYY_MM_DD}.md",
    "Log/{date:YYYY/YYYY-MM-DD}.md",
    "a b/日記/{date:YYYY/MM/YYYY-MM-DD}.md",
    "Log/{date:YYYY/MM-MMMM/YYYY-MM-DD}.md",
    "{date:YYYYMMDD}.md",
    "日記/{date:YYYY年/MM月/YYYY年MM月DD日}.md",
    "{date:YYYY-MM-DD ddd}.md",
    "Log/{date:YYYY-MM-DD dddd}.md",
]


@example("日記/{date:YYYY年/MM月/YYYY年MM月DD日}.md", date(2026, 8, 20))
@example("日記/{date:YYYY年/M月/YYYY年MM月DD日}.md", date(2026, 8, 20))
@given(st.sampled_from(PATTERNS), st.dates(date(2001, 1, 1), date(2098, 1, 1)))
def test_the_pattern_of_daily_notes_is_found_by_their_names(pattern, first):
    days = [first + timedelta(days=40 * number) for number in range(5)]
    names = [render(pattern, day) for day in days]

    assert pattern_by_names([*names, "Home.md", "a/1999-01-01 note.md"]) == pattern


@every(
    "paths",
    [
        [],
        ["Home.md", "a/b.md"],
        ["2026-05-04.md"],
        ["2026-02-30.md", "2026-02-31.md"],
        ["202605041015 id.md", "202605041016 id.md"],
        ["2026-05-04 Zoo.md", "2026-05-05 Bob.md"],
        ["2026-05-04.png", "2026-05-05.png"],
    ],
)
def test_a_vault_without_daily_notes_has_no_pattern(paths):
    assert pattern_by_names(paths) == ""


@every(
    ("folder", "date_format", "pattern"),
    [
        ("", "", "{date}.md"),
        ("/Daily/", "YYYY-MM-DD", "Daily/{date}.md"),
        ("Daily", "YYYY/MM/DD[.md]", "Daily/{date:YYYY/MM/DD[.md]}.md"),
        ("Daily", "YYYY-MM-DD.md", "Daily/{date}.md"),
        ("Daily", "gggg-ww", ""),
        ("Daily {x}", "YYYY-MM-DD", ""),
    ],
)
def test_settings_of_obsidian_become_a_pattern(folder, date_format, pattern):
    assert pattern_of(folder, date_format) == pattern


def test_a_dated_note_of_a_scope_goes_where_its_pattern_says():
    patterns = [
        Pattern("journal/{date}-{name}.md", "dated", "user:mira"),
        Pattern("journal/{date}.md", "dated", "user:mira"),
        Pattern("logs/{channel}/{date}.md", "dated", "channel:{channel}"),
        Pattern("mine/{date:YYYY_MM_DD}.md", "dated", "user:{user}"),
    ]
    paths = {
        scope: path_of_day(patterns, scope, "main")
        for scope in ("user:mira", "user:main", "user:bob", "channel:sea", "group:x")
    }

    assert paths == {
        "user:mira": "journal/{date}.md",
        "user:main": "mine/{date:YYYY_MM_DD}.md",
        "user:bob": "",
        "channel:sea": "logs/sea/{date}.md",
        "group:x": "",
    }


def test_the_owner_of_a_vault_of_notes_is_at_its_root_and_others_are_not():
    layout = Layout(preset=preset("obsidian", "Daily/{date}.md"))

    own = places_of("user:main", ["Home.md"], layout)
    other = places_of("user:bob", ["Home.md"], layout)

    assert (own.profile, own.facts) == ("USER.md", "USER.FACTS.md")
    assert own.note_of(DAY) == "Daily/2026-05-04.md"
    assert other.note_of(DAY) == "Users/bob/memories/2026-05-04.md"


@pytest.mark.parametrize("name", ["obsidian", "logseq", "plain"])
def test_what_is_written_for_the_owner_is_memory_again(name):
    layout = Layout(preset=preset(name, "Daily/{date:YYYY/MM/YYYY-MM-DD}.md"))
    places = places_of("user:main", [], layout)

    for path in (places.profile, places.facts, places.rules, places.note_of(DAY)):
        assert layout.place(path).scope == "user:main", path
    for path in (places.episodes_of(DAY), places.reflection_of(DAY)):
        assert layout.place(path).scope in ("user:main", "group:main"), path
