"""A note that a hit links to ranks a little higher than one that no hit links to."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.http.served import serving
from tests.scenarios.outside import at
from vault_memory import VaultMemory
from vault_memory.index import schema
from vault_memory.markdown.properties.note_properties import Sort
from vault_memory.search.results import Hit

OFF = {
    "VAULT_MEMORY_EMBEDDING_KIND": "off",
    "VAULT_MEMORY_LAYOUT_NAME": "obsidian",
    "VAULT_MEMORY_LAYOUT_DAILY": "{date}.md",
}
HUB = "Notes on sailing a dinghy in the fjord, with trim, rigging, knots and weather.\n\n"
TEXT = "How to trim a sail on a reach.\n"


class Vault:
    """A vault in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.memory = VaultMemory.open(root, environment=OFF)

    def write(self, path: str, text: str) -> None:
        note = self.root / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")

    def hits(self, query: str = "sailing dinghy trim a sail", **options: object) -> Sequence[Hit]:
        scopes = self.memory.scopes()
        return self.memory.search(query, scopes=scopes, why=True, **options).hits

    def notes(self, query: str = "sailing dinghy trim a sail", **options: object) -> list[str]:
        return [hit.note for hit in self.hits(query, **options)]

    def linked(self) -> set[str]:
        return {hit.note for hit in self.hits(copies=True) if hit.why and "linked" in hit.why.terms}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path / "vault")
    with vault.memory:
        yield vault


LINKS = [
    "See [[Zephyr]].\n",
    "See [[cards/Zephyr|the card]] and [[Zephyr#Trim]].\n",
    "See [the card](cards/Zephyr.md).\n",
    "See [[west wind]].\n",
]


@pytest.mark.sampled
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("mode", ["balanced", "keyword", "general"])
def test_a_linked_note_ranks_above_an_equal_one(vault, link, mode):
    front = "---\naliases: [west wind]\n---\n"
    vault.write("Sailing.md", HUB + link)
    vault.write("cards/Anemone.md", front.replace("west", "east") + TEXT)
    vault.write("cards/Zephyr.md", front + TEXT)

    ranked = vault.notes(mode=mode, copies=True)

    assert ranked.index("cards/Zephyr.md") < ranked.index("cards/Anemone.md")


def test_hubs_raise_what_they_link_to_among_equals(vault):
    subjects = ["boats", "bread", "chess", "clocks", "garden", "maps", "tea", "wool"]
    numbers = random.Random(5)
    linked: dict[str, str] = {}
    for subject in subjects:
        cards = [f"{subject} card {number}" for number in range(9)]
        linked[subject] = numbers.choice(cards)
        hub = f"All about {subject}: history, tools and places.\n\n"
        vault.write(f"Hub of {subject}.md", f"{hub}[[{linked[subject]}]]\n")
        for card in cards:
            vault.write(f"cards/{card}.md", f"The tools that {subject} need.\n")

    for subject in subjects:
        ranked = vault.notes(f"history and tools of {subject}", copies=True, limit=30)
        cards = [note for note in ranked if note.startswith("cards/")]
        assert len(cards) == 9
        assert cards[0] == f"cards/{linked[subject]}.md"


def test_the_bonus_is_told_and_given_once(vault):
    vault.write("Sailing.md", f"{HUB}[[Zephyr]]\n")
    vault.write("Dinghy.md", f"Sailing the old dinghy. {TEXT}\n[[Zephyr]]\n")
    vault.write("cards/Anemone.md", TEXT)
    vault.write("cards/Zephyr.md", TEXT)

    by_note = {hit.note: hit for hit in vault.hits(copies=True)}
    linked = by_note["cards/Zephyr.md"]
    unlinked = by_note["cards/Anemone.md"]

    assert linked.why.terms["linked"] == pytest.approx(0.1)
    assert sum(linked.why.terms.values()) == pytest.approx(linked.score)
    assert linked.score - unlinked.score == pytest.approx(0.1)
    assert "linked" not in unlinked.why.terms


def test_a_link_neither_finds_a_note_nor_beats_a_better_hit(vault):
    vault.write("Sailing.md", f"{HUB}[[Zephyr]] and [[Recipes]]\n")
    vault.write("Better.md", "Sailing a dinghy: trim a sail.\n")
    vault.write("Zephyr.md", "Somebody else has to trim the hedge.\n")
    vault.write("Recipes.md", "Bread and soup.\n")

    ranked = vault.notes()

    assert ranked[0] == "Better.md"
    assert "Recipes.md" not in ranked
    assert vault.linked() == {"Zephyr.md"}


def test_a_link_to_itself_is_worth_nothing(vault):
    vault.write("Sailing.md", f"{HUB}[[Sailing]]\n")

    assert vault.linked() == set()


def test_a_link_leads_where_the_list_of_links_says(vault):
    vault.write("Sailing.md", f"{HUB}[[Plan]]\n")
    vault.write("Plan.md", TEXT)
    vault.write("boats/old/Plan.md", TEXT)

    [link] = vault.memory.searcher.links("Sailing").outgoing

    assert link.note == "Plan.md"
    assert vault.linked() == {"Plan.md"}


def test_a_link_in_a_note_of_a_day_counts_for_its_own_line(vault):
    errands = [f"- errand number {number}\n" for number in range(5)]
    first = "- sailing the dinghy with [[Zephyr]]\n"
    last = "- bought bread for [[Anemone]]\n"
    vault.write("2026-03-17.md", "".join([first, *errands, last]))
    vault.write("cards/Anemone.md", TEXT)
    vault.write("cards/Zephyr.md", TEXT)

    assert vault.linked() == {"cards/Zephyr.md"}


def test_a_note_of_another_person_takes_no_link(tmp_path):
    for person in ("ann", "bo"):
        folder = tmp_path / "vault" / "Users" / person / "memories"
        folder.mkdir(parents=True)
        (folder / "Zephyr.md").write_text(TEXT)
        (folder / "Sailing.md").write_text(f"{HUB}[[Zephyr]]\n")
    environment = {"VAULT_MEMORY_EMBEDDING_KIND": "off"}
    with VaultMemory.open(tmp_path / "vault", environment=environment) as memory:
        beside = memory.search("dinghy trim a sail", scopes=["user:bo"], why=True).hits
        for note in (tmp_path / "vault" / "Users" / "ann").rglob("*.md"):
            note.unlink()
        memory.index()
        alone = memory.search("dinghy trim a sail", scopes=["user:bo"], why=True).hits

    assert [hit.note for hit in beside if "linked" in hit.why.terms] == [
        "Users/bo/memories/Zephyr.md"
    ]
    assert [(hit.note, hit.score) for hit in beside] == [(hit.note, hit.score) for hit in alone]


def test_a_vault_without_links_is_asked_once_for_them(vault):
    assert schema.LINK == Sort.LINK
    vault.write("Sailing.md", HUB)
    vault.write("cards/Zephyr.md", f"#sail {TEXT}")
    vault.memory.index()
    vault.hits(refresh=False)
    connection = vault.memory.vault.indexing.index().connection
    statements: list[str] = []

    def trace(_cursor: object, statement: str, _bindings: object) -> bool:
        statements.append(statement)
        return True

    connection.exec_trace = trace
    vault.hits("rigging and knots", refresh=False)
    connection.exec_trace = None

    assert any("chunk" in statement for statement in statements)
    assert [statement for statement in statements if "property" in statement] == []


def test_a_removed_link_lifts_no_longer(vault):
    vault.write("Sailing.md", f"{HUB}[[Zephyr]]\n")
    vault.write("Zephyr.md", TEXT)
    assert vault.linked() == {"Zephyr.md"}

    vault.write("Sailing.md", HUB)

    assert vault.linked() == set()


def test_a_command_a_daemon_and_a_server_give_the_same_hits(tmp_path):
    place = at(tmp_path)
    memories = "Users/mira/memories"
    place.write(f"{memories}/Sailing.md", f"{HUB}[[Zephyr]]\n")
    place.write(f"{memories}/Anemone.md", TEXT)
    place.write(f"{memories}/Zephyr.md", TEXT)
    query = "dinghy trim a sail"
    options = ("--user", "mira", "--why", "--copies")

    from_command = place.search(query, *options)["hits"]
    with place.daemon():
        from_daemon = place.search(query, *options)["hits"]
    with (
        VaultMemory.open(place.vault, environment=place.environment) as memory,
        serving(memory) as served,
    ):
        body = {"query": query, "why": True, "copies": True}
        from_server = served.client().post("/v1/search", json=body).json()["hits"]

    assert [hit["note"] for hit in from_command] == [
        f"{memories}/Sailing.md",
        f"{memories}/Zephyr.md",
        f"{memories}/Anemone.md",
    ]
    assert from_command[1]["why"]["terms"]["linked"] == pytest.approx(0.1)
    assert from_daemon == from_command
    assert from_server == from_command


def test_links_are_looked_up_and_not_compared_with_each_alias(vault):
    vault.write("Sailing.md", f"{HUB}[[Zephyr]]\n")
    vault.memory.index()
    connection = vault.memory.vault.indexing.index().connection
    statements: list[str] = []

    def trace(_cursor: object, statement: str, _bindings: object) -> bool:
        statements.append(statement)
        return True

    connection.exec_trace = trace
    vault.hits("rigging and knots", refresh=False)
    connection.exec_trace = None

    [lookup] = [text for text in statements if "property alias" in text]
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {lookup}", ("[]",))]
    [alias] = [step for step in plan if " alias " in step]
    assert "key=?" in alias
    assert [step for step in plan if step.startswith("SCAN") and "hit" not in step] == []
