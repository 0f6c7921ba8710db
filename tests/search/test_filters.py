"""Filters by what people wrote: tags, fields, paths and days; unknown values are named."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from vault_memory import VaultMemory
from vault_memory.errors import UsageError

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
OFF = {
    "VAULT_MEMORY_EMBEDDING_KIND": "off",
    "VAULT_MEMORY_LAYOUT_NAME": "obsidian",
    "VAULT_MEMORY_LAYOUT_DAILY": "{date}.md",
}
NOTES = {
    "people/Anna Schmidt.md": (
        "---\naliases: [Annie]\ntags: family\nrating: 5\ndate: 2026-03-10\n---\n"
        "She sails a boat in the harbour.\n"
    ),
    "Boat repair.md": (
        "---\nstatus: done\n---\n# Boat repair\n\n"
        "The boat hull was sanded with [[Anna Schmidt]]. #craft/wood\n\n"
        "The boat engine came later.\n"
    ),
    "2026-03-17.md": "- the boat was #cold\n- the boat was warm (topic: weather)\n",
    "projects/boat/Plan.md": "A boat for the lake.\n",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    for name, text in NOTES.items():
        note = tmp_path / "vault" / name
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")
    with VaultMemory.open(tmp_path / "vault", environment=OFF) as opened:
        yield opened


def notes(memory: VaultMemory, **filters: object) -> set[str]:
    answer = memory.search("boat", scopes=memory.scopes(), now=NOW, **filters)
    return {hit.note for hit in answer.hits}


def unknown(memory: VaultMemory, **filters: object) -> list[tuple[object, ...]]:
    answer = memory.search("boat", scopes=memory.scopes(), now=NOW, **filters)
    return [tuple(entry) for entry in answer.unknown_filters]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tags": "family"}, {"people/Anna Schmidt.md"}),
        ({"tags": ["#Craft"]}, {"Boat repair.md"}),
        ({"tags": ["craft/wood"]}, {"Boat repair.md"}),
        ({"tags": ["craft", "family"]}, set()),
        ({"where": "rating=5"}, {"people/Anna Schmidt.md"}),
        ({"where": {"status": "Done"}}, {"Boat repair.md"}),
        ({"where": ["status"]}, {"Boat repair.md"}),
        ({"where": {"rating": 5, "date": date(2026, 3, 10)}}, {"people/Anna Schmidt.md"}),
        ({"paths": "people"}, {"people/Anna Schmidt.md"}),
        ({"paths": "projects/**"}, {"projects/boat/Plan.md"}),
        ({"paths": ["boat", "2026-*.md"]}, {"projects/boat/Plan.md", "2026-03-17.md"}),
        ({"entity": "annie"}, {"Boat repair.md"}),
        ({"since": "yesterday"}, {"2026-03-17.md"}),
        ({"since": "2026-03"}, {"2026-03-17.md", "people/Anna Schmidt.md"}),
        ({"since": "last week", "until": "last week"}, {"people/Anna Schmidt.md"}),
        ({"since": "vor 2 Tagen"}, {"2026-03-17.md"}),
        ({"until": date(2026, 3, 10)}, {"people/Anna Schmidt.md"}),
        ({"since": datetime(2026, 3, 17, tzinfo=UTC)}, {"2026-03-17.md"}),
    ],
)
def test_a_filter_keeps_the_notes_that_it_names(memory, filters, expected):
    assert notes(memory, **filters) == expected


def test_a_tag_in_a_note_of_a_day_is_of_its_line_alone(memory):
    answer = memory.search("boat", scopes=memory.scopes(), tags="cold")

    assert [hit.text for hit in answer.hits] == ["- the boat was #cold"]


def test_each_filter_works_with_words_in_each_mode(memory):
    for mode in ("balanced", "keyword", "rrf", "recent"):
        assert notes(memory, mode=mode, tags="family") == {"people/Anna Schmidt.md"}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"topic": "wether"}, [("topic", "wether", ("weather",))]),
        ({"topic": "Weather"}, []),
        ({"tags": "familly"}, [("tag", "familly", ("family",))]),
        ({"where": "rating=4"}, [("where", "rating=4", ("rating=5",))]),
        ({"where": "statuss"}, [("where", "statuss", ("status",))]),
        ({"paths": "peple"}, [("path", "peple", ("people",))]),
        ({"entity": "Anna Schmitt"}, [("entity", "Anna Schmitt", ("anna schmidt",))]),
        ({"kinds": ["rules"]}, [("kind", "rules", ("dated", "note"))]),
        ({"kinds": ["note", "facts"]}, []),
        ({"tags": "family", "where": "status"}, []),
        ({"since": "2026-01-01"}, []),
    ],
)
def test_an_unknown_value_of_a_filter_is_named_with_near_ones(memory, filters, expected):
    assert unknown(memory, **filters) == expected


def test_a_tag_or_day_in_front_matter_is_a_filter_and_no_hit(memory):
    def found(query: str) -> list[str]:
        answer = memory.search(query, scopes=memory.scopes(), now=NOW)
        return [hit.text for hit in answer.hits]

    assert found("family") == []
    assert [text for text in found("2026-03-10") if "date:" in text] == []
    assert notes(memory, tags="family") == {"people/Anna Schmidt.md"}


def test_an_alias_in_front_matter_finds_its_note(memory):
    answer = memory.search("Annie", scopes=memory.scopes(), now=NOW)

    assert "people/Anna Schmidt.md" in {hit.note for hit in answer.hits}


def test_a_kind_without_notes_is_told_on_a_terminal(outside):
    outside.write("memory/a.md", "- the boat\n")

    done = outside.here("search", "boat", "--kind", "rules")

    assert "no searched note is of the kind `rules`; there are: `note`" in done.err


def test_kinds_of_other_people_are_not_told(outside):
    outside.write("Users/ann/memories/a.md", "- the boat\n")
    outside.write("Users/bo/memories/2026-03-01.md", "- the boat\n")

    answer = outside.search("boat", "--kind", "rules", "--user", "ann")

    assert answer["unknown_filters"] == [{"filter": "kind", "value": "rules", "near": ["note"]}]


def test_near_names_come_only_from_open_scopes(tmp_path):
    for person, tag in (("ann", "secretplan"), ("bo", "garden")):
        folder = tmp_path / "vault" / "Users" / person / "bot" / "config"
        folder.mkdir(parents=True)
        (folder / "USER.md").write_text(f"---\ntags: {tag}\n---\nboat\n")
    environment = {"VAULT_MEMORY_EMBEDDING_KIND": "off"}
    with VaultMemory.open(tmp_path / "vault", environment=environment) as memory:
        answer = memory.search("boat", scopes=["user:bo"], tags="secretplans")

    assert answer.hits == ()
    assert [entry.near for entry in answer.unknown_filters] == [()]


@pytest.mark.parametrize(
    "filters",
    [
        {"since": "banana"},
        {"until": "2026-02-30"},
        {"since": ""},
        {"tags": ""},
        {"tags": ["#"]},
        {"where": "=done"},
        {"paths": " "},
        {"since": 5},
    ],
)
def test_a_filter_that_means_nothing_is_refused(memory, filters):
    with pytest.raises(UsageError) as refused:
        notes(memory, **filters)

    assert refused.value.hint


def test_an_edited_note_has_its_new_tags_and_no_old_ones(memory):
    path = memory.root / "Boat repair.md"
    path.write_text("---\ntags: new\n---\nThe boat.\n")

    assert notes(memory, tags="new") == {"Boat repair.md"}
    assert notes(memory, tags="craft") == set()
    path.unlink()
    memory.index()
    assert notes(memory, tags="new") == set()


def test_a_rebuilt_index_has_the_same_properties(memory):
    memory.refresh()
    statement = "SELECT path, sort, p.name, key, value FROM property p JOIN note ON note.id = note ORDER BY 1, 2, 3, 4, 5"
    before = list(memory.vault.indexing.index().connection.execute(statement))
    memory.index(rebuild=True)

    assert before
    assert list(memory.vault.indexing.index().connection.execute(statement)) == before
