"""What keeps an item from fading: that a query means it, and not that a search brought it along."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.search.test_fading import ANN, NOW, Vault
from vault_memory.rules.claims.equivalence import content_key

TRIPS = [
    ("[event] Walked to the pier", "[event] Bought saffron", "[event] Slept late"),
    ("[event] Ging zum Hafen", "[event] Kaufte Safran", "[event] Schlief lange"),
    ("[event] Гуляла у реки", "[event] Купила шафран", "[event] Спала долго"),
    ("[event] 去了码头", "[event] 买了藏红花", "[event] 睡到很晚"),
]
ASKED = ["saffron", "Safran", "шафран", "藏红花"]
WEAK = [
    ("Drank tea {}", "Who drank absinthe beneath the volcano?"),
    ("Trank Tee {}", "Wer trank Absinth unter dem Vulkan?"),
    ("Выпила чай {}", "Кто выпила абсент возле вулкана?"),
]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    with vault.memory:
        yield vault


def _read_keys(vault: Vault) -> set[str]:
    return {read["key"] for read in vault.reads()}


@pytest.mark.parametrize(("lines", "query"), zip(TRIPS, ASKED, strict=True))
def test_a_neighbour_that_a_search_brings_along_is_not_read(
    vault: Vault, lines: tuple[str, ...], query: str
):
    vault.learn(3, *lines)

    texts = vault.texts(query)

    assert len(texts) > 1, "the search brings no neighbour, so this shows nothing"
    assert _read_keys(vault) == {content_key(ANN, lines[1])}


@pytest.mark.parametrize(("line", "query"), WEAK)
def test_a_line_with_one_frequent_word_of_a_question_is_not_read(
    vault: Vault, line: str, query: str
):
    vault.learn(3, *(f"[event] {line.format(number)}" for number in range(40)))

    assert vault.texts(query)

    assert _read_keys(vault) == set()


def test_a_line_with_the_rare_word_of_a_question_is_read(vault: Vault):
    lines = [f"[event] Drank tea {number}" for number in range(40)]
    vault.learn(3, *lines, "[event] Drank absinthe")

    vault.search("Who drank absinthe?")

    assert _read_keys(vault) == {content_key(ANN, "[event] Drank absinthe")}


def test_what_a_prompt_brings_into_the_block_is_read(vault: Vault):
    vault.learn(3, *TRIPS[0])

    block = vault.memory.context("Where did I buy saffron?", scopes=[ANN], now=NOW)

    assert "Bought saffron" in block.text
    assert _read_keys(vault) <= {content_key(ANN, line) for line in TRIPS[0]}
