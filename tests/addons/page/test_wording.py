"""How the page writes times, scopes and notes."""

from datetime import datetime

import pytest

from vault_memory.addons.page.wording import day, night, note_title, when, whose

NOW = datetime(2026, 5, 27, 15, 0)


@pytest.mark.parametrize(
    ("ts", "words"),
    [
        ("2026-05-27T14:02:00", "14:02"),
        ("2026-05-26T11:00:00", "yesterday 11:00"),
        ("2026-05-21T11:00:00", "Thu 21 May"),
        ("2026-01-02T23:59:00", "Fri 2 Jan"),
        ("2019-05-21T11:00:00", "Tue 21 May 2019"),
        ("", ""),
        ("not a time", "not a time"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_a_time_is_as_short_as_it_is_clear(ts: str, words: str) -> None:
    assert when(ts, NOW) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-05-27", "today"),
        ("2026-05-26", "yesterday"),
        ("2026-04-02", "Thu 2 Apr"),
        ("2026-04-02T10:00:00", "Thu 2 Apr"),
        ("2019-03", "March 2019"),
        ("2019", "2019"),
        ("2026-02-30", "2026-02-30"),
        ("2026-13", "2026-13"),
    ],
)
def test_a_day_may_be_a_month_or_a_year(text: str, words: str) -> None:
    assert day(text, NOW) == words


def test_a_night_is_named_by_the_day_on_which_it_ended() -> None:
    assert night("2026-05-27", NOW) == "Last night"
    assert night("2026-05-21", NOW) == "The night of Thu 21 May"


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("user:mira", "Mira"),
        ("user:mira_holm", "Mira Holm"),
        ("user:McKay", "McKay"),
        ("user:ёлка", "Ёлка"),
        ("channel:harbour", "#harbour"),
        ("group:main", "everybody"),
        ("group:global", "everybody"),
        ("group:choir", "Choir"),
    ],
)
def test_a_scope_reads_like_a_name(scope: str, words: str) -> None:
    assert whose(scope) == words


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("Users/mira/lantern/config/USER.md", "Profile"),
        ("Users/mira/lantern/config/FACTS.md", "Facts"),
        ("Channels/harbour/CHANNEL.md", "Profile"),
        ("memory/electricity_plan.md", "electricity plan"),
        ("memory/2019-05-21.md", "Tue 21 May 2019"),
        ("memory/2019-05-21 the storm.md", "Tue 21 May 2019 the storm"),
        ("memories/2026-W22.md", "Week 22 of 2026"),
        ("_.md", "_.md"),
        ("Notes without an ending", "Notes without an ending"),
    ],
)
def test_a_note_has_a_title(path: str, title: str) -> None:
    assert note_title(path) == title
