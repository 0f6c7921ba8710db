"""A server without a daemon reads what changed, and not the whole vault at each request."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside, at
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultUnreachable
from vault_memory.service.watched_index import WatchedIndex
from vault_memory.vault.reader import Folder

SCOPES = ["user:mira", "group:main"]


@pytest.fixture
def place(tmp_path: Path) -> Outside:
    place = at(tmp_path)
    for number in range(40):
        place.write(f"memory/folder-{number % 4}/note-{number}.md", f"- the oar {number}\n")
    return place


@pytest.fixture
def served(place: Outside) -> Iterator[VaultMemory]:
    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        watched = WatchedIndex(memory)
        memory.vault.indexing.is_fresh = watched.is_fresh
        yield memory
        watched.close()


def text_of(memory: VaultMemory) -> list[tuple[str, str, float]]:
    answer = memory.search("the oar", scopes=SCOPES, limit=500, preview=True)
    notes = [(note.note, note.revision, 0.0) for note in memory.notes()]
    return sorted([*notes, *((hit.note, hit.text, round(hit.score, 9)) for hit in answer.hits)])


def test_requests_walk_the_vault_once(served: VaultMemory, monkeypatch: pytest.MonkeyPatch):
    walks: list[str] = []
    listing = Folder.listing

    def counted(folder: Folder, subtree: str = "", **options):
        walks.append(subtree)
        return listing(folder, subtree, **options)

    monkeypatch.setattr(Folder, "listing", counted)
    before = text_of(served)
    first = walks.count("")
    assert all(text_of(served) == before for _ in range(10))

    assert first
    assert walks.count("") == first


def test_each_request_sees_what_was_saved_before_it(place: Outside, served: VaultMemory):
    chance = random.Random(7)
    memory = place.vault / "memory"
    for step in range(30):
        notes = sorted(memory.rglob("*.md"))
        note, other = chance.choice(notes), memory / f"new-{step}" / "deeper" / f"{step}.md"
        match chance.choice(("write", "append", "delete", "move", "folder", "folder moves", "log")):
            case "write":
                note.write_text(f"- the oar of step {step}\n")
            case "append":
                with note.open("a") as file:
                    file.write(f"- one more oar {step}\n")
            case "delete":
                note.unlink()
            case "move":
                note.rename(memory / f"moved-{step}.md")
            case "folder":
                other.parent.mkdir(parents=True)
                other.write_text(f"- the oar below {step}\n")
            case "folder moves" if note.parent != memory:
                note.parent.rename(memory / f"back-{step}")
            case "log":
                served.apply(
                    f"memory/{step}.md",
                    [{"op": "add_heading", "heading": "Oars", "lines": ["the oar is new"]}],
                    source="cli",
                )
        place.write("memory/folder-0/last.md", f"- the last oar {step}\n")
        answer = text_of(served)
        with VaultMemory.open(place.vault, environment=place.environment) as alone:
            assert answer == text_of(alone), step


def test_a_vault_that_goes_away_is_an_error(place: Outside, served: VaultMemory):
    assert text_of(served)
    place.vault.rename(place.vault.with_name("elsewhere"))

    with pytest.raises(VaultUnreachable):
        served.notes()
    place.vault.with_name("elsewhere").rename(place.vault)
    assert text_of(served)


def test_what_a_server_records_is_found_by_its_next_request(served: VaultMemory):
    for number in range(5):
        served.record_turn(session="s", role="user", text=f"the oar {number} broke", user="mira")
        answer = served.search(f"oar {number} broke", scopes=SCOPES)
        assert f"oar {number} broke" in answer.hits[0].text
