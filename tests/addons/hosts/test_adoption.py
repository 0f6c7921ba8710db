"""`install --adopt`: the notes that a program writes by itself become notes of the vault."""

import json
import re
from pathlib import Path

import pytest

from tests.addons.hosts.conftest import Install
from tests.addons.hosts.test_installer import folder
from tests.scenarios.outside import Outside

INDEX = "- [Boat](boat.md): the keel is of larch\n"
TOPIC = "---\nname: boat\ntype: project\n---\nThe mast is of spruce.\n"


def encoded(place: Path) -> str:
    return re.sub("[^A-Za-z0-9]", "-", str(place))


def wrote(outside: Outside, place: Path, **notes: str) -> Path:
    """What Claude Code wrote in a folder of code before the vault was there."""
    memory = outside.home / ".claude" / "projects" / encoded(place) / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    for name, text in notes.items():
        (memory / f"{name}.md").write_text(text)
    return memory


def setting(file: Path) -> str | None:
    """The folder that settings name."""
    text = file.read_text() if file.exists() else "{}"
    named: str | None = json.loads(text).get("autoMemoryDirectory")
    return named


def hits(outside: Outside, query: str, *scopes: str) -> list[str]:
    return [hit["note"] for hit in outside.ok("search", query, *scopes)["hits"]]


@pytest.fixture
def code(outside: Outside) -> Path:
    made = outside.home / "code" / "my-heron.2"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def local(code: Path) -> Path:
    return code / ".claude" / "settings.local.json"


@pytest.mark.smoke
def test_what_claude_code_wrote_is_found_and_goes_on_in_the_same_folder(
    outside: Outside, install: Install, code: Path, local: Path
) -> None:
    source = wrote(outside, code, MEMORY=INDEX, boat=TOPIC)
    before = folder(source)

    install("claude-code", "--adopt")

    of_code = outside.vault / "groups" / "my-heron.2" / "memory" / "claude-code"
    of_mira = outside.vault / "Users" / "mira" / "memories" / "claude-code"
    assert setting(local) == str(of_code)
    assert setting(outside.home / ".claude" / "settings.json") == str(of_mira)
    assert folder(source) == before
    assert hits(outside, "spruce mast") == ["groups/my-heron.2/memory/claude-code/boat.md"]
    of_mira.mkdir(parents=True)
    (of_mira / "MEMORY.md").write_text("- likes marzipan\n")
    assert hits(outside, "marzipan", "--user", "mira")
    assert not hits(outside, "marzipan", "--user", "jonas")
    assert not hits(outside, "larch keel", "--user", "jonas")
    assert "its notes are in the vault" in outside.run("install", "--check", "claude-code").out


def test_a_second_adoption_changes_nothing_and_brings_no_deleted_line_back(
    outside: Outside, install: Install, code: Path
) -> None:
    source = wrote(outside, code, MEMORY=INDEX)
    install("claude-code", "--adopt")
    note = outside.vault / "groups" / "my-heron.2" / "memory" / "claude-code" / "MEMORY.md"
    note.write_text("- the keel is of oak\n")
    before = folder(outside.vault)

    again = install("claude-code", "--adopt")

    assert not any(file["changed"] for file in again["files"])
    assert folder(outside.vault) == before
    (source / "new.md").write_text("The rudder is new.\n")
    install("claude-code", "--adopt")
    assert (note.parent / "new.md").read_text() == "The rudder is new.\n"
    assert note.read_text() == "- the keel is of oak\n"


def test_a_dry_run_shows_the_adoption_and_writes_nothing(
    outside: Outside, install: Install, code: Path
) -> None:
    wrote(outside, code, MEMORY=INDEX)
    outside.ok("index")
    before = folder(outside.home), folder(outside.vault)

    shown = install("claude-code", "--adopt", "--dry-run")

    note = str(outside.vault / "groups" / "my-heron.2" / "memory" / "claude-code" / "MEMORY.md")
    assert note in [file["path"] for file in shown["files"]]
    assert any("autoMemoryDirectory" in file["diff"] for file in shown["files"])
    assert folder(outside.vault) == before[1]
    assert folder(outside.home) == before[0]


def test_uninstall_puts_back_what_the_person_had_set(
    outside: Outside, install: Install, code: Path, local: Path
) -> None:
    own = outside.home / "my notes"
    own.mkdir()
    (own / "MEMORY.md").write_text("- rows a dinghy\n")
    settings = outside.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"autoMemoryDirectory": "~/my notes", "model": "opus"}')
    source = wrote(outside, code, MEMORY=INDEX)
    before = settings.read_text(), folder(source)

    said = outside.run("install", "claude-code", "--user", "mira", "--adopt")

    assert "was ~/my notes" in said.err
    assert hits(outside, "dinghy", "--user", "mira") == [
        "Users/mira/memories/claude-code/MEMORY.md"
    ]
    note = outside.vault / "groups" / "my-heron.2" / "memory" / "claude-code" / "since.md"
    note.write_text("The sail is red.\n")
    # A plain `install` leaves the adoption as it is.
    install("claude-code")
    assert setting(local) == str(note.parent)

    said = outside.run("install", "claude-code", "--uninstall")

    assert f"stays in {note.parent}" in said.err
    assert (settings.read_text(), folder(source)) == before
    assert not local.exists()
    assert hits(outside, "red sail")


@pytest.mark.parametrize("named", ["", "..", "Users/mira/notes"])
def test_a_folder_in_the_vault_or_around_it_stays_as_it_is(
    outside: Outside, install: Install, named: str
) -> None:
    # Everybody's notes would be copied to those of the person.
    outside.write("Users/jonas/wren/config/USER.md", "- jonas likes marzipan\n")
    outside.write("Users/mira/notes/MEMORY.md", "- the keel is of larch\n")
    settings = outside.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"autoMemoryDirectory": str(outside.vault / named)}))

    said = outside.run("install", "claude-code", "--user", "mira", "--adopt")

    assert said.code == 0
    assert "are inside one another already" in said.err
    assert setting(settings) == str(outside.vault / named)
    assert not (outside.vault / "Users" / "mira" / "memories").exists()
    assert not hits(outside, "marzipan", "--user", "mira")


def test_a_project_that_moved_keeps_its_folder_of_the_vault(
    outside: Outside, install: Install, code: Path, local: Path
) -> None:
    wrote(outside, code, MEMORY=INDEX)
    install("claude-code", "--adopt")
    moved = code.rename(code.with_name("moved"))
    wrote(outside, moved, MEMORY=INDEX)
    named = setting(moved / ".claude" / "settings.local.json")

    install("claude-code", "--adopt")

    assert setting(moved / ".claude" / "settings.local.json") == named
    assert not (outside.vault / "groups" / "moved").exists()


def test_an_adoption_follows_a_vault_that_moved(
    outside: Outside, install: Install, code: Path, local: Path
) -> None:
    local.parent.mkdir()
    local.write_text('{"autoMemoryDirectory": "/own"}')
    wrote(outside, code, MEMORY=INDEX)
    install("claude-code", "--adopt")
    outside.vault = outside.vault.rename(outside.vault.with_name("moved"))

    install("claude-code", "--adopt")

    assert setting(local) == str(outside.vault / "groups" / "my-heron.2" / "memory" / "claude-code")
    outside.ok("install", "claude-code", "--uninstall")
    assert local.read_text() == '{"autoMemoryDirectory": "/own"}'


def test_a_project_of_its_own_is_adopted_and_returned_by_itself(
    outside: Outside, install: Install, code: Path, local: Path
) -> None:
    wrote(outside, code, MEMORY=INDEX)
    before = folder(outside.home / "code")

    install("claude-code", "--project", str(code), "--channel", "heron", "--adopt")

    of_code = outside.vault / "groups" / "heron" / "memory" / "claude-code"
    assert setting(local) == str(of_code)
    assert setting(outside.home / ".claude" / "settings.json") is None
    assert hits(outside, "larch keel", "--group", "heron")
    outside.ok("install", "claude-code", "--uninstall")
    assert setting(local) == str(of_code)
    outside.ok("install", "claude-code", "--project", str(code), "--uninstall")
    assert folder(outside.home / "code") == before


def test_the_memory_of_a_project_is_in_no_group_that_others_may_read(
    outside: Outside, install: Install
) -> None:
    for name in ("Users/jonas/wren/config/USER.md", "groups/crew/MEMORY.md"):
        note = outside.vault / name
        note.parent.mkdir(parents=True)
        note.write_text("- sails\n")
    for name in ("crew", "global", "main"):
        place = outside.home / "code" / name
        place.mkdir(parents=True)
        wrote(outside, place, MEMORY=INDEX.replace("larch", name))

    install("claude-code", "--adopt")

    for name in ("crew", "global", "main"):
        assert (outside.vault / "groups" / f"{name}-2" / "memory" / "claude-code").is_dir()
    assert len(hits(outside, "keel")) == 3
    assert not hits(outside, "keel", "--user", "jonas", "--group", "crew")


def test_the_memory_of_a_folder_that_is_gone_is_copied_once(
    outside: Outside, install: Install
) -> None:
    gone = outside.home / "code" / "gone"
    wrote(outside, gone, MEMORY=INDEX)

    said = outside.run("install", "claude-code", "--user", "mira", "--adopt")

    assert "copied once" in said.err
    [note] = hits(outside, "larch keel")
    assert re.fullmatch(r"groups/.*-gone/memory/claude-code/MEMORY\.md", note)


def test_a_host_without_notes_of_its_own_says_so(outside: Outside, install: Install) -> None:
    refused = outside.run("install", "cursor", "--user", "mira", "--adopt")
    assert refused.code == 2
    assert "keeps no notes of its own" in refused.err


def test_an_adoption_that_was_interrupted_is_repeated(
    outside: Outside, install: Install, code: Path, local: Path
) -> None:
    wrote(outside, code, MEMORY=INDEX)
    local.parent.mkdir()
    local.write_text("{ not JSON")
    refused = outside.run("install", "claude-code", "--user", "mira", "--adopt")
    assert str(local) in refused.err
    assert setting(outside.home / ".claude" / "settings.json") is None
    local.unlink()

    install("claude-code", "--adopt")

    of_code = outside.vault / "groups" / "my-heron.2" / "memory" / "claude-code"
    assert setting(local) == str(of_code)
    assert [note.name for note in of_code.iterdir()] == ["MEMORY.md"]


def test_the_removal_of_all_puts_back_what_was_adopted(
    outside: Outside, install: Install, code: Path, local: Path
) -> None:
    wrote(outside, code, MEMORY=INDEX)
    install("claude-code", "--adopt")

    outside.ok("uninstall", "--yes")

    assert not local.exists()
    assert not (outside.home / ".claude" / "settings.json").exists()
    assert (outside.vault / "groups" / "my-heron.2" / "memory" / "claude-code").is_dir()
