"""A name that notes link to is known, although no note has it yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vault_memory import VaultMemory
from vault_memory.errors import NoteNotFound

OFF = {
    "VAULT_MEMORY_EMBEDDING_KIND": "off",
    "VAULT_MEMORY_LAYOUT_NAME": "obsidian",
    "VAULT_MEMORY_LAYOUT_DAILY": "{date}.md",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    notes = {
        "Boats.md": "We met [[Karim Osei]] at the quay, and [[people/Noor|her]].\n",
        "2026-05-04.md": "- talked to [[karim osei#Work|Karim]]\n",
        "Plan.md": "See [the list](lists/Open%20points.md) and [[Boats]].\n",
    }
    for path, text in notes.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    with VaultMemory.open(tmp_path, environment=OFF) as memory:
        yield memory


@pytest.mark.parametrize(
    ("name", "incoming"),
    [
        ("Karim Osei", ("2026-05-04.md", "Boats.md")),
        ("karim OSEI", ("2026-05-04.md", "Boats.md")),
        ("Noor", ("Boats.md",)),
        ("people/Noor", ("Boats.md",)),
        ("Open points", ("Plan.md",)),
    ],
)
def test_the_links_to_a_name_without_a_note_are_listed(memory, name, incoming):
    links = memory.searcher.links(name)

    assert (links.outgoing, links.incoming) == ((), incoming)


@pytest.mark.parametrize("name", ["Karim", "other/Noor", "Nobody"])
def test_a_name_that_no_note_links_to_is_not_found(memory, name):
    with pytest.raises(NoteNotFound):
        memory.searcher.links(name)


def test_what_is_said_about_such_a_name_is_found(memory):
    about = memory.facts.entity("Karim Osei", scopes=memory.scopes())

    assert {hit.note for hit in about.hits} == {"Boats.md", "2026-05-04.md"}


def test_a_note_that_is_made_later_takes_the_links(memory, tmp_path):
    (tmp_path / "Karim Osei.md").write_text("Repairs hulls.\n")

    links = memory.searcher.links("Karim Osei")

    assert links.note == "Karim Osei.md"
    assert links.incoming == ("2026-05-04.md", "Boats.md")
