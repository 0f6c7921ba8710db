"""Whether a vault has anything to say to a prompt: only when a good part of what it is about stands there."""

import pytest

from tests.every import every
from tests.search.library import MODEL, NOW, embed, library, put
from vault_memory.search.candidates import VectorArm
from vault_memory.search.query import SearchQuery, search

ME, OTHER = "user:me", "user:other"
GARDEN = """# Garden

- The pump of the well needs two strokes
- Tomatoes grow behind the shed
- 井戸のポンプは二回押す
"""
NOTES = {
    (ME, "garden.md"): GARDEN,
    (ME, "list.md"): "- A list of places would help her\n- Function of the lamp: two flashes\n",
    (OTHER, "theirs.md"): "- Kangaroos jump over the fence\n- Kangaroos sleep at noon\n",
}


@pytest.fixture(scope="module")
def index():
    return library(NOTES)


def hits(index, prompt, **more):
    return search(
        index, SearchQuery(prompt, [ME], now=NOW, mode="keyword", gated=True, **more)
    ).hits


@every(
    "prompt",
    [
        "how does the pump of the well work?",
        "tomatoes?",
        "My day was long and I talked to many people about nothing much. How many strokes does the well's pump need?",
        "ポンプは二回押す",
    ],
)
def test_a_prompt_about_something_in_the_notes_passes_the_gate(index, prompt):
    assert hits(index, prompt)[0].note == "garden.md"


@every(
    "prompt",
    [
        "hello",
        "Write a python function that sorts a list of numbers",
        "what do kangaroos do at noon over the fence?",
        "help me to negotiate a merger with lawyers abroad",
        "who are you?",
        "",
        "東京の天気",
    ],
)
def test_a_prompt_about_something_else_finds_nothing(index, prompt):
    assert hits(index, prompt) == ()


def test_a_day_named_in_the_prompt_passes_the_gate():
    index = library(NOTES)
    put(
        index,
        "2024-06-14.md",
        ME,
        "- Painted the gallery railing\n",
        kind="dated",
        date="2024-06-14",
    )

    assert [hit.note for hit in hits(index, "what happened on 2024-06-14?")] == ["2024-06-14.md"]
    assert not hits(index, "what happened on 2021-02-03?")


def test_without_the_gate_a_search_returns_its_best_hits(index):
    found = search(
        index, SearchQuery("a list of numbers and lawyers", [ME], now=NOW, mode="keyword")
    ).hits

    assert [hit.note for hit in found][:1] == ["list.md"]


def test_the_gate_does_not_depend_on_other_scopes(index):
    alone = library({key: text for key, text in NOTES.items() if key[0] == ME})
    for prompt in ("the pump of the well", "kangaroos at noon by the pump", "a list of kangaroos"):
        assert [hit.note for hit in hits(index, prompt)] == [
            hit.note for hit in hits(alone, prompt)
        ]


def test_a_chunk_with_an_exceptionally_similar_vector_passes_the_gate():
    notes = {(ME, f"{at}.md"): f"- word{at} thing{at} item{at}\n" for at in range(12)}
    index = library({**notes, (ME, "tea.md"): "- sencha gyokuro matcha\n"})
    vector = embed("sencha gyokuro matcha")

    query = SearchQuery("infusions, please?", [ME], now=NOW, gated=True)

    found = search(index, query, vector_arm=VectorArm(lambda text: vector, MODEL))

    assert found.hits[0].note == "tea.md"
    assert not search(index, query).hits
