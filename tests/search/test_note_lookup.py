"""Notes are found by name and alias; links lead both ways."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vault_memory import VaultMemory
from vault_memory.errors import NoteNotFound, UsageError

NOTES = {
    "start/Home.md": "# Home\n\n[[Anna Schmidt|Anna]] and [[Missing]] and [[b/Plan]].\n",
    "people/Anna Schmidt.md": "---\naliases: [Annie]\n---\nLives near [[Home]].\n",
    "a/Plan.md": "See [the start](../start/Home.md) and [[annie]].\n",
    "b/Plan.md": "Nothing.\n",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    for name, text in NOTES.items():
        note = tmp_path / "vault" / name
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")
    environment = {"VAULT_MEMORY_EMBEDDING_KIND": "off", "VAULT_MEMORY_LAYOUT_NAME": "obsidian"}
    with VaultMemory.open(tmp_path / "vault", environment=environment) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("start/Home.md", "start/Home.md"),
        ("Home", "start/Home.md"),
        ("home.md", "start/Home.md"),
        ("anna schmidt", "people/Anna Schmidt.md"),
        ("Annie", "people/Anna Schmidt.md"),
        ("b/plan", "b/Plan.md"),
    ],
)
def test_a_note_is_found_by_its_name(memory, name, path):
    assert memory.searcher.find_note(name) == path


def test_a_name_of_several_notes_is_refused_with_their_paths(memory):
    with pytest.raises(UsageError) as refused:
        memory.searcher.find_note("Plan")

    assert "`a/Plan.md`, `b/Plan.md`" in refused.value.message


def test_an_unknown_name_is_refused_with_a_near_one(memory):
    with pytest.raises(NoteNotFound) as refused:
        memory.searcher.find_note("Hom")

    assert "start/Home.md" in refused.value.hint


def test_links_lead_out_and_in_and_may_be_broken(memory):
    links = memory.searcher.links("Home")

    assert [tuple(link) for link in links.outgoing] == [
        ("Anna Schmidt", "people/Anna Schmidt.md"),
        ("Missing", None),
        ("b/Plan", "b/Plan.md"),
    ]
    assert links.incoming == ("a/Plan.md", "people/Anna Schmidt.md")
    assert links.broken == ("Missing",)
    assert memory.searcher.links("Annie").incoming == ("a/Plan.md", "start/Home.md")
