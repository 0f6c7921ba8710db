"""The people and things of some scopes, in a list and one by one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vault_memory import VaultMemory, config
from vault_memory.errors import UsageError
from vault_memory.facts.entity_finder import EntityInfo

ALICE, BOB = ["user:alice"], ["user:bob"]
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))
ALICE_CONFIG = "Users/alice/bot/config"
ALICE_NOTES = "Users/alice/memories"
FACTS = """# Facts

## Mira

- is_a: woman
- also_known_as: Mimi
- works_at: Harbour Works
- likes: green tea
- ~~lives_in: Oslo~~ (until 2020-01-01)

## The Wren

- is_a: boat
"""


def write(memory: VaultMemory, note: str, text: str) -> None:
    path = memory.root / note
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    folder = tmp_path / "vault"
    folder.mkdir()
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(folder, OFF, environment=environment) as opened:
        write(opened, f"{ALICE_CONFIG}/FACTS.md", FACTS)
        yield opened


def by_name(memory: VaultMemory, scopes: list[str]) -> dict[str, EntityInfo]:
    return {entity.name: entity for entity in memory.facts.entities(scopes=scopes)}


def test_the_list_has_subjects_of_facts_and_what_they_are_related_to(memory: VaultMemory) -> None:
    write(memory, f"{ALICE_NOTES}/a.md", "- Mira painted the hull\n\n- Mimi came\n")

    entities = memory.facts.entities(scopes=ALICE)

    assert [entity.name for entity in entities] == ["Harbour Works", "Mira", "The Wren"]
    works, mira, wren = entities
    assert (mira.type, mira.aliases, mira.facts) == ("person", ("Mimi",), 4)
    assert (wren.type, wren.facts) == ("product", 1)
    assert (works.type, works.facts) == ("other", 1)
    assert mira.mentions >= 2


def test_an_entity_is_counted_as_it_is_shown_by_itself(memory: VaultMemory) -> None:
    write(memory, f"{ALICE_NOTES}/a.md", "- @bo and #sailing\n\n- Mimi met bo\n")
    write(
        memory,
        f"{ALICE_NOTES}/Lantern.md",
        "---\naliases: [The Light, Lamp]\n---\n\n# Lantern\n\n- the Lamp is lit\n",
    )

    for entity in memory.facts.entities(scopes=ALICE):
        for name in (entity.name, *entity.aliases):
            about = memory.facts.entity(name, scopes=ALICE)
            stated = [fact for fact in about.facts if fact.text]
            assert (about.name, about.type) == (entity.name, entity.type), name
            assert about.aliases == entity.aliases, name
            assert about.mentions == entity.mentions, name
            assert len(stated) == entity.facts, name


def test_aliases_in_front_matter_are_listed(memory: VaultMemory) -> None:
    write(
        memory,
        f"{ALICE_NOTES}/Lantern.md",
        "---\naliases: [The Light, Lamp]\n---\n\n# Lantern\n\n- it is lit\n",
    )
    write(
        memory,
        f"{ALICE_NOTES}/mira-lund.md",
        "---\naliases: [Mira, Mira Lund]\n---\n\n# Mira\n\n- she rows\n",
    )
    write(memory, f"{ALICE_CONFIG}/USER.md", "---\naliases: Ally\n---\n\n# Me\n")

    entities = by_name(memory, ALICE)

    assert entities["Lantern"].aliases == ("The Light", "Lamp")
    assert entities["Mira"].aliases == ("Mimi", "mira-lund", "Mira Lund")
    assert entities["alice"].aliases == ("Ally",)
    assert "mira-lund" not in entities
    assert memory.facts.entity("lamp", scopes=ALICE).name == "Lantern"
    assert memory.facts.entity("Ally", scopes=ALICE).name == "alice"
    about = memory.facts.entity("Mira Lund", scopes=ALICE)
    assert about.name == "Mira"
    assert {fact.predicate for fact in about.facts} >= {"works_at", "likes"}


def test_mentions_with_a_sign_are_entities_and_addresses_are_none(memory: VaultMemory) -> None:
    text = "- @bo wrote to a@example.org about #sailing on https://example.org/x\n"
    write(memory, f"{ALICE_NOTES}/a.md", text)

    entities = by_name(memory, ALICE)

    assert (entities["bo"].type, entities["bo"].mentions) == ("person", 1)
    assert entities["sailing"].type == "concept"
    assert not {"a@example.org", "https://example.org/x"} & entities.keys()


def test_what_another_person_knows_is_not_listed(memory: VaultMemory) -> None:
    write(memory, "Users/bob/bot/config/FACTS.md", "# Facts\n\n## Nils\n\n- is_a: man\n")
    write(
        memory, "Users/bob/memories/a.md", "---\naliases: [The Shed]\n---\n\n- Mira and @cy came\n"
    )
    write(memory, f"{ALICE_NOTES}/a.md", "- Mira came\n")
    before = by_name(memory, ALICE)
    assert {"a", "cy", "Nils"} == by_name(memory, BOB).keys()

    (memory.root / "Users/bob/memories/a.md").unlink()
    (memory.root / "Users/bob/bot/config/FACTS.md").unlink()

    assert by_name(memory, ALICE) == before
    assert memory.facts.entities(scopes=[]) == []
    with pytest.raises(UsageError):
        memory.facts.entities(scopes="user:alice")


def test_what_is_known_of_a_person_is_found_by_name_and_by_alias(memory: VaultMemory) -> None:
    write(memory, f"{ALICE_CONFIG}/USER.md", "---\naliases: Ally\n---\n\n- rows\n")
    write(memory, f"{ALICE_CONFIG}/RULES.md", "- be brief\n")
    for day in range(1, 6):
        write(memory, f"{ALICE_NOTES}/2026-01-0{day}.md", f"- day {day}\n")
    write(memory, "Users/bob/bot/config/USER.md", "- bakes\n")

    for name in ("alice", "ALICE", "Ally"):
        known = memory.facts.about(name, scopes=[*ALICE, *BOB])
        assert known.entity.aliases == ("Ally",)
        assert [note.kind for note in known.notes] == ["rules", "user"]
        assert [note.text for note in known.recent] == ["- day 3\n", "- day 4\n", "- day 5\n"]
    assert memory.facts.about("alice", scopes=BOB).notes == ()


def test_a_thing_is_known_by_the_lines_that_name_it(memory: VaultMemory) -> None:
    write(memory, f"{ALICE_NOTES}/a.md", "# A\n\n- The Wren leaks\n")

    known = memory.facts.about("The Wren", scopes=ALICE)

    assert known.notes == ()
    assert f"{ALICE_NOTES}/a.md:3" in {note.note for note in known.recent}
    assert [fact.object for fact in known.entity.facts] == ["boat"]
