"""Texts in other words are compared by vectors, and only with the items that share their words."""

from array import array
from collections.abc import Sequence
from math import sqrt

from vault_memory.errors import EmbedderUnavailable
from vault_memory.rules.learning.duplicate_filter import DuplicateFilter, ExistingItem, NewLine
from vault_memory.rules.learning.twins import MOST_TEXTS, VectorTwins

NOTE = "memories/2026-05-25.md"
HOME = "Her home is the yellow house in Bergen"
ITEMS = [HOME, "Keeps bees behind the mill", "Plays the violin on Sundays"]
CONCEPTS = (("home", "lives"), ("bergen",), ("bees",), ("violin",), ("yellow",))


def embed(texts: Sequence[str]) -> list[bytes]:
    """Embeds by concepts, so that two wordings of one statement are alike."""
    vectors = []
    for text in texts:
        vector = [float(any(word in text.lower() for word in words)) for words in CONCEPTS]
        length = sqrt(sum(value * value for value in vector)) or 1.0
        vectors.append(array("f", [value / length for value in vector]).tobytes())
    return vectors


def sorted_lines(text: str) -> DuplicateFilter:
    sorter = DuplicateFilter(
        [ExistingItem(NOTE, "Learned", item) for item in ITEMS],
        is_replaceable=lambda item: True,
        cosines=VectorTwins(ITEMS, embed).cosines,
    )
    sorter.take(NewLine(NOTE, "Learned", f"{text} (2026-05-26, ref:t2)", "t2"))
    return sorter


def test_a_statement_in_other_words_is_skipped() -> None:
    sorter = sorted_lines("She lives in a yellow building in Bergen")
    assert sorter.written == {}
    [skip] = sorter.skipped(lambda note: "user:ann")[NOTE]
    assert skip.turn == "t2"


def test_another_place_in_other_words_is_kept() -> None:
    sorter = sorted_lines("She lives in a yellow building in Oslo")
    assert list(sorter.written) == [NOTE]


def test_only_items_with_common_words_are_embedded() -> None:
    embedded: list[str] = []

    def count(texts: Sequence[str]) -> list[bytes]:
        embedded.extend(texts)
        return embed(texts)

    twins = VectorTwins(ITEMS, count)
    twins.cosines("She keeps the bees")
    twins.cosines("She keeps the bees")

    assert embedded == ["She keeps the bees", ITEMS[1]]


def test_a_night_embeds_a_bounded_number_of_texts() -> None:
    items = [f"Bee number{index} of hive{index}" for index in range(MOST_TEXTS)]
    embedded: list[str] = []

    def count(texts: Sequence[str]) -> list[bytes]:
        embedded.extend(texts)
        return embed(texts)

    twins = VectorTwins(items, count)
    for index in range(MOST_TEXTS):
        twins.cosines(f"A bee with number{index} and hive{index}")

    assert 0 < len(embedded) <= MOST_TEXTS


def test_without_the_model_server_lines_are_compared_by_their_words() -> None:
    def fail(texts: Sequence[str]) -> list[bytes]:
        raise EmbedderUnavailable("the server is down")

    assert VectorTwins(ITEMS, fail).cosines("She keeps the bees") == {}
