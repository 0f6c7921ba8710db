"""A summary of a conversation is found by its month, by a day, and by `since`, however long ago it was."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.search.test_fading import ANN, Vault

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
AGES = [datetime(2026, 11, 28, 12, tzinfo=UTC), datetime(2028, 11, 28, 12, tzinfo=UTC)]
BY_MONTH = [
    "What did we talk about in May?",
    "Worüber haben wir im Mai gesprochen?",
    "¿De qué hablamos en mayo?",
    "De quoi avons-nous parlé en mai ?",
    "О чём мы говорили в мае?",
    "5月我们聊了什么？",
    "五月我们聊了什么？",
    "5月に何を話した？",
    "5월에 무슨 얘기를 했지?",
]
BY_DATE = [
    "What did we decide on 12 May 2026?",
    "Was haben wir am 12. Mai 2026 beschlossen?",
    "2026年5月12日我们聊了什么？",
    "What did we decide in May 2026?",
    "2026-05-12",
]
TEXT = "[episode] Asked for the wind; flies on 9 June; open: the hotel"


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    with vault.memory:
        note = "Users/ann/memories/sessions/2026-05-12.md"
        written = datetime(2026, 5, 12, 19, tzinfo=UTC)
        vault.learn(0, f"{TEXT} (2026-05-12)", note=note, now=written)
        other = "Users/ann/memories/sessions/2026-02-03.md"
        winter = datetime(2026, 2, 3, 19, tzinfo=UTC)
        line = "[episode] Asked for skates; open: the rink (2026-02-03)"
        vault.learn(0, line, note=other, now=winter)
        yield vault


@pytest.mark.sampled
@pytest.mark.parametrize("query", BY_MONTH)
def test_an_episode_of_half_a_year_ago_is_found_by_its_month(vault: Vault, query: str):
    hits = vault.search(query, now=NOW).hits

    assert hits[0].date == "2026-05-12"


@pytest.mark.sampled
@pytest.mark.parametrize("now", AGES)
@pytest.mark.parametrize("query", BY_DATE)
def test_an_old_episode_is_found_by_a_named_date(vault: Vault, query: str, now: datetime):
    hits = vault.search(query, now=now).hits

    assert hits[0].date == "2026-05-12"


@pytest.mark.parametrize("now", AGES)
@pytest.mark.parametrize(
    "options",
    [{"since": "2026-05-01"}, {"since": "2026-05", "until": "2026-05"}, {"until": "2026-06-01"}],
)
def test_an_old_episode_is_found_by_since_and_until(
    vault: Vault, now: datetime, options: dict[str, str]
):
    dates = [hit.date for hit in vault.search("wind hotel", now=now, **options).hits]

    assert "2026-05-12" in dates


@pytest.mark.parametrize("query", ["What did we talk about in May?", BY_MONTH[5]])
def test_a_prompt_that_names_the_month_gets_the_episode(vault: Vault, query: str):
    block = vault.memory.context(query, scopes=[ANN], now=NOW)

    assert "flies on 9 June" in block.text


def test_an_undated_question_finds_no_old_episode(vault: Vault):
    assert vault.search("wind hotel", now=NOW).hits == ()


def test_what_else_has_faded_stays_out_when_a_date_is_named(vault: Vault):
    note = "Users/ann/memories/2026-05-12.md"
    written = datetime(2026, 5, 12, 19, tzinfo=UTC)
    vault.learn(0, "[ephemeral] The code is 4417", note=note, now=written)

    found = vault.search("What was the code in May?", now=NOW)

    assert "4417" not in " ".join(hit.text for hit in found.hits)
    assert found.left_out == {"deleted": 1}
