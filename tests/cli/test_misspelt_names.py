"""A wrong letter in a name opens nobody's memory: the command is refused and offers the name that is like it."""

import sys
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside

COMMANDS = {
    "search": ("search", "hive"),
    "context": ("context", "which hive?"),
    "notes": ("notes",),
    "facts": ("facts",),
    "timeline": ("timeline", "mira"),
    "entity": ("entity", "mira"),
    "source": ("source", "Users/mira/memories/hives.md:3"),
    "record": ("record", "--session", "s", "--role", "user", "I keep bees"),
    "end-session": ("end-session", "s"),
    "compact": ("compact", "s", "Asked for the hive"),
    "held": ("held",),
    "feedback": ("feedback", "bad"),
    "remember": ("remember", "I keep bees"),
    "sleep": ("sleep",),
    "add-fact": ("add-fact", "mira", "keeps", "bees"),
    "correct": ("correct", "f3a9", "wasps"),
    "invalidate": ("invalidate", "f3a9"),
    "delete-fact": ("delete-fact", "f3a9"),
    "confirm": ("confirm", "f3a9"),
    "forget": ("forget", "The white hive", "--yes"),
    "export": ("export", "--to", "copy"),
    "import": ("import", "CLAUDE.md"),
    "conflicts": ("conflicts",),
    "install": ("install", "claude-code"),
    "mcp": ("mcp",),
    "serve": ("serve", "--new-token", "bot.token"),
}


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write("Users/mira/memories/hives.md", "# Hives\n\n- The white hive\n")
    outside.write("Channels/harbour/CHANNEL.md", "# harbour\n\n- Boats at noon\n")
    outside.write("groups/crew/MEMORY.md", "# crew\n\n- The rota is on the door\n")
    outside.quick = True
    return outside


def files(vault: Outside) -> list[Path]:
    """All files but those of the program."""
    return sorted(path for path in vault.vault.rglob("*") if not path.name.startswith("."))


@pytest.mark.sampled
@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_person_is_refused_with_the_name_that_is_like_it(vault: Outside, command: str):
    before = files(vault)

    refused = vault.run(*COMMANDS[command], "--user", "mrai")

    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.splitlines() == [
        "error: this vault has no person `mrai`; did you mean `mira`?",
        "",
        "hint: write `--user mira`, or add `--new` to use the new name",
    ]
    assert files(vault) == before


@pytest.mark.parametrize(
    ("option", "name", "right"), [("--channel", "harbor", "harbour"), ("--group", "crw", "crew")]
)
def test_a_misspelt_channel_or_group_is_refused(vault: Outside, option: str, name: str, right: str):
    refused = vault.run("search", "noon", option, name)

    assert refused.code == 2
    assert f"did you mean `{right}`?" in refused.err


def test_a_program_reads_the_names_that_are_like_it_from_the_error(vault: Outside):
    refused = vault.run("search", "hive", "--user", "mrai", "--json")

    assert refused.code == 2
    assert refused.error["code"] == "name_unclear"
    assert refused.error["scope"] == "user:mrai"
    assert refused.error["near"] == ["user:mira"]


def test_with_new_a_name_that_is_like_another_becomes_a_person(vault: Outside):
    turn = ("record", "--session", "s", "--role", "user", "--user", "mirja", "I row")

    assert vault.run(*turn).code == 2
    assert vault.run(*turn, "--new").code == 0
    assert vault.run(*turn).code == 0, "the person is there now"
    assert vault.finds("I row", "--user", "mirja")


@pytest.mark.parametrize("command", ["search", "context", "notes", "facts", "timeline", "held"])
def test_with_new_a_person_without_notes_has_an_empty_answer(vault: Outside, command: str):
    answer = vault.run(*COMMANDS[command], "--user", "mrai", "--new")

    assert answer.code == 0
    assert "white hive" not in answer.out


def test_writing_for_a_new_person_says_so(vault: Outside):
    for command in ("record", "remember", "add-fact"):
        name = f"zoe {command}"
        written = vault.run(*COMMANDS[command], "--user", name)

        assert written.code == 0
        assert f"new person: {name}" in written.err.splitlines()


@pytest.mark.parametrize("command", ["held", "end-session", "sleep"])
def test_asking_for_a_person_whom_nothing_is_like_says_that_there_is_no_note(
    vault: Outside, command: str
):
    answer = vault.run(*COMMANDS[command], "--user", "zoe")

    assert "no note belongs to user:zoe; check the name" in answer.err


def test_the_person_of_a_workspace_needs_no_folder(outside: Outside):
    outside.write("USER.md", "- keeps bees\n")

    assert outside.run("search", "bees", "--user", "main").err.count("no note") == 0


def test_a_person_whose_notes_a_pattern_names_is_known(outside: Outside):
    outside.write("Journal/mira/hives.md", "# Hives\n\n- The white hive\n")
    config = outside.home / "config.toml"
    config.write_text(
        '[[layout.patterns]]\npath = "Journal/{user}/{name}.md"\nkind = "note"\n'
        'scope = "user:{user}"\n'
    )
    outside.settings["VAULT_MEMORY_CONFIG"] = str(config)

    assert outside.finds("white hive", "--user", "mira")
    assert outside.run("search", "hive", "--user", "mrai").code == 2

    outside.write("Journal/mirai/boat.md", "# Boat\n\n- The red boat\n")
    assert outside.finds("red boat", "--user", "mirai"), "newer than the index"


def test_beside_a_daemon_a_misspelt_name_is_refused_too(vault: Outside):
    turn = ("record", "--session", "s", "--role", "user", "I keep bees", "--user")
    vault.quick = False
    with vault.daemon():
        assert vault.run(*turn, "mira").code == 0
        assert vault.run(*turn, "mrai").code == 2
        assert vault.run("search", "hive", "--user", "mrai").code == 2
        assert "new person: zoe" in vault.run(*turn, "zoe").err
        assert vault.run(*turn, "mirja", "--new").code == 0
        assert not (vault.vault / "Users/mrai").exists()


def test_the_server_of_a_misspelt_person_does_not_start(vault: Outside):
    vault.quick = False
    assert vault.run("index", "--no-embed").code == 0

    assert vault.run("mcp", "--user", "mrai").code == 2
    assert vault.run("mcp", "--user", "mrai", "--new").code == 0
    assert vault.run("mcp", "--user", "zoe").code == 0


def test_an_installed_server_starts_for_a_new_person(vault: Outside):
    assert vault.run("install", "claude-code", "--user", "mirja", "--new").code == 0

    assert vault.run("mcp", "--user", "mirja").code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the names of files are bytes")
def test_a_name_that_no_path_may_have_is_refused_by_its_own_rule(vault: Outside):
    refused = vault.run("record", *COMMANDS["record"][1:], "--user", "a\0b")

    assert refused.code == 2
