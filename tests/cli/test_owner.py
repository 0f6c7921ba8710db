"""Whose notes these are: said once, kept with the vault, and never made up."""

import json
from pathlib import Path

import pytest

from tests.cli.test_layouts import on_terminal
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory

PROMPT = {"session_id": "s", "hook_event_name": "UserPromptSubmit"}
START = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}
SETTINGS = {
    "obsidian": (".obsidian/app.json", "{}"),
    "logseq": ("logseq/config.edn", "{:meta/version 1}"),
    "plain": ("README.md", "# Notes\n"),
}


@pytest.fixture
def notes(outside: Outside) -> Outside:
    """Notes of one person, of which no command has read any."""
    outside.settings |= {"XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    make(outside, "obsidian")
    return outside


def make(outside: Outside, program: str) -> None:
    outside.write(*SETTINGS[program])
    for number in range(9):
        outside.write(f"House/{number}.md", f"# {number}\n\nThe hatch has {number} bolts.\n")
    outside.write("House/Roof.md", "# Roof\n\nOve mends the roof of the boathouse.\n")


def marker(outside: Outside) -> dict[str, object]:
    values: dict[str, object] = json.loads((outside.vault / ".vault-memory").read_text())
    return values


def hook(outside: Outside, user: str, payload: dict[str, str]) -> str:
    said = json.dumps(payload | {"cwd": str(outside.home)})
    file = outside.home / "payload.json"
    file.write_text(said)
    with file.open() as stdin:
        done = outside.run("hook", "claude-code", "--user", user, stdin=stdin)
    assert done.code == 0
    return done.out


@pytest.mark.parametrize("program", SETTINGS)
def test_the_commands_of_the_readme_give_a_hook_the_lines_of_the_person(
    outside: Outside, program: str
):
    outside.settings |= {"XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    make(outside, program)

    outside.ok("init", "--user", "mira")
    assert outside.finds("who mends the roof?") or outside.finds("mends the roof")
    outside.ok("install", "claude-code", "--user", "mira")
    block = hook(outside, "mira", PROMPT | {"prompt": "who mends the roof of the boathouse?"})

    assert "Ove mends the roof of the boathouse" in block
    assert {note["scope"] for note in outside.ok("notes")["notes"]} == {"user:mira"}


def test_installing_for_a_person_names_the_owner_of_notes_that_have_none(notes: Outside):
    """Without `init`: the first commands are `index` and `search`."""
    notes.ok("index")

    done = notes.run("install", "claude-code", "--user", "mira")

    assert done.code == 0
    assert "these notes belong to mira from now on" in done.err
    assert marker(notes)["owner"] == "mira"
    assert "Ove mends" in hook(notes, "mira", PROMPT | {"prompt": "who mends the roof?"})


def test_installing_gives_no_notes_of_a_bot_to_another_name(notes: Outside):
    """Months with the name that nobody gave: a second program must not take the notes over."""
    notes.ok("record", "--session", "s", "--role", "user", "--user", "main", "I row")

    done = notes.run("install", "claude-code", "--user", "mira")

    assert "owner" not in marker(notes)
    assert "mira can read no note of this vault: the notes belong to main" in done.err
    assert notes.finds("Ove mends the roof", "--user", "main")


def test_a_dry_run_names_no_owner(notes: Outside):
    notes.ok("index")

    done = notes.run("install", "claude-code", "--user", "mira", "--dry-run")

    assert "the notes would belong to mira" in done.err
    assert "owner" not in marker(notes)


def test_the_owner_is_the_login_name_where_nobody_can_be_asked(notes: Outside):
    made = notes.ok("init")

    assert made["owner"] == "keeper"
    assert marker(notes)["owner"] == "keeper"


@pytest.mark.sampled
def test_a_person_at_a_terminal_is_asked_whose_notes_these_are(notes: Outside):
    shown = on_terminal(notes.command("init"), notes, "obsidian\nmira\n")

    assert "Whose notes are these? [keeper]" in shown
    assert marker(notes)["owner"] == "mira"
    again = on_terminal(notes.command("init"), notes, "obsidian\n")
    assert "Whose" not in again


def test_an_owner_is_changed_by_name_only(notes: Outside):
    notes.ok("init", "--user", "mira")

    assert notes.ok("init")["owner"] == "mira"
    changed = notes.run("init", "--user", "tomas")
    assert "these notes belong to tomas, no longer to mira" in changed.err
    assert notes.finds("mends the roof", "--user", "tomas")


@pytest.mark.parametrize("name", ["", "  ", "a/b", ".hidden", "..", "a\nb"])
def test_a_name_that_no_person_can_have_is_refused(notes: Outside, name: str):
    refused = notes.run("init", "--user", name)

    assert refused.code == 2
    assert "owner" not in marker(notes)


NAMING = {
    "record": ("record", "--session", "s", "--role", "user", "I row"),
    "remember": ("remember", "I keep bees"),
    "add-fact": ("add-fact", "tomas", "keeps", "bees"),
    "search": ("search", "roof"),
    "context": ("context", "the roof?"),
    "notes": ("notes",),
    "facts": ("facts",),
    "sleep": ("sleep",),
    "export": ("export", "--to", "copy"),
    "import": ("import", "CLAUDE.md"),
    "install": ("install", "claude-code"),
    "mcp": ("mcp",),
    "serve": ("serve", "--new-token", "bot.token"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("command", NAMING)
def test_an_unknown_person_is_refused_where_all_notes_are_of_one(notes: Outside, command: str):
    notes.ok("init", "--user", "mira")

    refused = notes.run(*NAMING[command], "--user", "tomas")

    assert refused.code == 2
    assert "these notes belong to mira" in refused.err
    assert "--user mira" in refused.err
    assert not (notes.vault / "Users").exists()


def test_a_second_person_is_added_when_that_is_meant(notes: Outside):
    notes.ok("init", "--user", "mira")
    turn = ("record", "--session", "s", "--role", "user", "--user", "tomas", "I row")

    shown = on_terminal(notes.command(*turn), notes, "y\n")

    assert "Add tomas as a second person?" in shown
    assert notes.run(*turn).code == 0, "the person is there now"
    assert notes.finds("I row", "--user", "tomas")
    assert not notes.finds("I row", "--user", "mira")


def test_a_vault_whose_owner_nobody_named_goes_on_as_it_was(notes: Outside):
    """As with a marker of an earlier version."""
    notes.ok("index")

    known = notes.run("search", "roof", "--user", "main")
    made = notes.run("record", "--session", "s", "--role", "user", "--user", "mira", "x")

    assert "Ove mends" in known.out
    assert made.code == 0
    assert "new person: mira" in made.err
    assert "vault-memory init --user mira" in made.err


def test_a_bot_for_a_person_without_a_note_says_so(notes: Outside):
    notes.ok("init", "--user", "mira")

    installed = notes.run("install", "claude-code", "--user", "tomas", "--new")
    (notes.vault / "Users/tomas").rmdir()
    said = json.loads(hook(notes, "tomas", START))

    words = "tomas can read no note of this vault: the notes belong to mira"
    assert words in installed.err
    assert words in said["systemMessage"]
    assert words in said["hookSpecificOutput"]["additionalContext"]


def test_a_model_does_not_read_who_else_is_in_the_vault(notes: Outside):
    notes.ok("init", "--user", "mira")
    notes.write("Users/ann/memories/a.md", "- ann keeps a boat\n")

    said = hook(notes, "tomas", START)

    assert "the notes belong to others" in said
    assert "ann" not in said.replace("can", "")
    assert "mira" not in said


def test_a_person_in_a_vault_without_notes_of_people_is_no_fault(outside: Outside):
    outside.write("Channels/harbour/CHANNEL.md", "# harbour\n\n- Boats at noon\n")
    outside.ok("index")

    assert "can read no note" not in hook(outside, "tomas", START)


def test_the_owner_of_the_configuration_reaches_the_other_devices(notes: Outside):
    notes.ok("index")
    (notes.state / "vault-memory.toml").write_text('[layout]\nuser = "mira"\n')

    notes.ok("index")

    assert marker(notes)["owner"] == "mira"


def test_an_owner_in_the_marker_that_is_no_name_counts_as_none(notes: Outside):
    notes.ok("index")
    file = notes.vault / ".vault-memory"
    for wrong in (3, None, "../mira", "a\nb", ["mira"]):
        file.write_text(json.dumps(marker(notes) | {"owner": wrong}))

        assert notes.finds("mends the roof", "--user", "main")


def test_a_marker_keeps_what_a_newer_version_wrote(notes: Outside):
    notes.ok("index")
    file = notes.vault / ".vault-memory"
    file.write_text(json.dumps(marker(notes) | {"later": [1]}))

    notes.ok("init", "--user", "mira")

    assert marker(notes)["later"] == [1]
    assert marker(notes)["format"] == 1


def test_transcripts_of_the_owner_are_no_words_of_the_group(tmp_path: Path):
    for layout in ("workspace", "obsidian"):
        root = tmp_path / layout
        (root / ("memory" if layout == "workspace" else ".obsidian")).mkdir(parents=True)
        (root / "MEMORY.md").write_text("# Us\n\n- The rota is on the door\n")
        with VaultMemory.open(root) as memory:
            recorded = memory.record_turn(
                session="s", role="user", user="main", text="my secret kettle"
            )
            owner = memory.search("secret kettle", scopes=["user:main"]).hits
            group = memory.search("secret kettle", scopes=["group:main"]).hits

        assert [hit.scope for hit in owner] == ["user:main"], recorded
        assert group == ()
