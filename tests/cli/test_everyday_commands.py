"""`about`, `open` and `config`, as a person uses them."""

import stat
from pathlib import Path

import pytest

from tests.cli.terminals import opened
from tests.scenarios.outside import Outside

NOTE = "Users/ann/bot/config/USER.md"


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write(NOTE, "# Ann\n\n## Food\n\n- no nuts\n")
    outside.write("Users/ann/bot/config/RULES.md", "# Rules\n\n- never call at noon\n")
    outside.write("Users/ann/bot/config/FACTS.md", "# Facts\n\n## ann\n\n- likes: tea\n")
    for day in range(1, 6):
        outside.write(f"Users/ann/memories/2026-05-0{day}.md", f"- walk {day}\n")
    assert outside.here("index", "--no-embed").code == 0
    return outside


@pytest.fixture
def editor(vault: Outside) -> Path:
    """An editor that writes down how it was started, and adds a line to the file."""
    program = vault.home / "vim"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {vault.home}/started\n'
        'for last; do :; done\necho "$ADDED" >> "$last"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    vault.settings |= {"EDITOR": str(program), "VISUAL": "", "ADDED": ""}
    return vault.home / "started"


# --- about ---


def test_about_a_person_shows_profile_rules_facts_and_the_last_days(vault: Outside) -> None:
    answer = vault.ok("about", "Ann")

    assert {note["kind"] for note in answer["notes"]} == {"user", "rules"}
    assert answer["facts"][0]["object"] == "tea"
    assert [note["text"] for note in answer["recent"]] == ["- walk 3\n", "- walk 4\n", "- walk 5\n"]
    text = vault.run("about").out
    assert "no nuts" in text
    assert "never call at noon" in text
    assert "likes: tea" in text


def test_about_a_thing_shows_lines_that_name_it(vault: Outside) -> None:
    vault.write("memory/boats.md", "# Boats\n\n- The Petrel has a red hull\n")
    vault.write("FACTS.md", "# Facts\n\n## petrel\n\n- is_a: boat\n")

    answer = vault.ok("about", "Petrel")

    assert answer["notes"] == []
    places = [line["note"] for line in answer["recent"]]
    assert "memory/boats.md:3" in places


def test_about_keeps_the_notes_of_another_person_out_of_a_scope(vault: Outside) -> None:
    vault.write("Users/bob/bot/config/USER.md", "# Bob\n\n- the code is 4417\n")

    answer = vault.ok("about", "bob", "--user", "ann")

    assert "4417" not in str(answer)
    assert "4417" in str(vault.ok("about", "bob"))
    assert "bob" in vault.run("about").err


def test_about_an_unknown_name_says_so(vault: Outside) -> None:
    assert "nothing is known" in vault.run("about", "zzyzx").out


# --- open ---


@pytest.mark.parametrize(
    ("editor_line", "end"),
    [
        ("vim", "vim +5 {path}"),
        ("nano -w", "nano -w +5 {path}"),
        ("emacs", "emacs +5 {path}"),
        ("code --wait", "code --wait --goto {path}:5"),
        ("/usr/bin/hx", "/usr/bin/hx {path}:5"),
        ("kate", "kate --line 5 {path}"),
        ("unknown-editor", "unknown-editor {path}"),
    ],
)
def test_a_note_opens_at_a_line_in_each_editor(vault: Outside, editor_line: str, end: str) -> None:
    vault.settings |= {"EDITOR": editor_line, "VISUAL": ""}
    path = (vault.vault / NOTE).resolve()

    done = vault.run("open", f"{NOTE}:5", "--print")

    assert done.out == end.format(path=path) + "\n"


def test_the_editor_gets_the_terminal_and_the_note(vault: Outside, editor: Path) -> None:
    vault.settings["ADDED"] = "- likes tea"

    assert opened(vault, "open", f"{NOTE}:3").end() == 0

    assert editor.read_text().startswith("+3 ")
    assert (vault.vault / NOTE).read_text().endswith("- likes tea\n")


def test_addresses_of_programs_escape_what_a_path_may_contain(vault: Outside) -> None:
    vault.write("memory/a b&c.md", "- x\n")

    obsidian = vault.ok("open", "memory/a b&c.md", "--with", "obsidian")
    code = vault.ok("open", "memory/a b&c.md:1", "--with", "vscode")

    assert obsidian["command"][1].startswith("obsidian://open?path=%2F")
    assert obsidian["command"][1].endswith("memory%2Fa%20b%26c.md")
    assert code["command"][1].startswith("vscode://file/")
    assert code["command"][1].endswith("/memory/a%20b%26c.md:1")


def test_a_missing_note_or_editor_gets_one_sentence(vault: Outside) -> None:
    missing = vault.run("open", "none.md")
    assert missing.code == 1
    assert "there is no note `none.md`" in missing.err
    vault.settings |= {"EDITOR": "/no/such/editor", "VISUAL": ""}

    done = vault.run("open", NOTE)

    assert done.code == 2
    assert "`/no/such/editor` cannot be started" in done.err


# --- config ---


def config_file(vault: Outside) -> Path:
    return Path(vault.ok("config", "path")["file"])


def test_set_changes_one_key_and_keeps_every_comment(vault: Outside) -> None:
    file = config_file(vault)
    file.write_text('# mine\n[recall]\nmemory_budget = 3  # few\n\n[embedding]\nkind = "off"\n')

    assert vault.run("config", "set", "recall.memory_budget", "9").code == 0
    assert file.read_text() == (
        '# mine\n[recall]\nmemory_budget = 9  # few\n\n[embedding]\nkind = "off"\n'
    )
    assert vault.run("config", "set", "sleep_cycle.cron", "0 3 * * *").code == 0
    assert file.read_text().endswith('[sleep_cycle]\ncron = "0 3 * * *"\n')


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("recall.memory_budget", "many"),
        ("recall.nothing", "1"),
        ("learning.jaccard", "0.9"),
        ("nothing.x", "1"),
        ("x", "1"),
    ],
)
def test_a_wrong_setting_is_refused_and_the_file_stays(
    vault: Outside, key: str, value: str
) -> None:
    file = config_file(vault)
    file.write_text("[recall]\nmemory_budget = 3\n")

    done = vault.run("config", "set", key, value)

    assert done.code in (2, 3)
    assert "hint: " in done.err
    assert ".trial" not in done.err
    assert file.read_text() == "[recall]\nmemory_budget = 3\n"
    assert [path.name for path in file.parent.glob("*.trial")] == []


def test_check_names_place_and_reason_of_each_problem(vault: Outside) -> None:
    config_file(vault).write_text('[recall]\nmemory_budget = "x"\n[embeding]\nkind = "off"\n')

    done = vault.run("config", "check")

    assert done.code == 3
    assert "recall.memory_budget" in done.out
    assert "embeding" in done.out
    assert "hint: " in done.err


def test_check_says_that_there_is_no_file(vault: Outside) -> None:
    file = config_file(vault)

    for action in ("check", "show"):
        assert vault.run("config", action).out == (
            f"there is no file {file}: each key has its default\n"
        )
    assert not vault.ok("config", "check")["exists"]
    file.write_text("[recall]\nmemory_budget = 3\n")
    assert vault.run("config", "check").out == f"{file} has no problems\n"


@pytest.mark.parametrize("text", ["[recall\n", '[brain]\nkind = "ollama"\n', "x = 1\n", "\x80"])
def test_doctor_names_a_wrong_configuration_and_checks_the_rest(vault: Outside, text: str) -> None:
    file = config_file(vault)
    file.write_bytes(text.encode("latin-1"))

    done = vault.run("doctor", "--json")

    assert done.code == 1
    first, *others = done.json["checks"]
    assert (first["name"], first["state"]) == ("configuration", "fail")
    assert str(file) in first["reason"]
    assert first["fix"] == "vault-memory config edit"
    assert {"vault", "state folder"} <= {check["name"] for check in others}
    refused = vault.run("web", "--no-browser")
    assert refused.code == 3
    assert "`vault-memory config edit`" in refused.err


def test_doctor_names_each_kind_of_awkward_name_once(vault: Outside) -> None:
    for number in range(9):
        vault.write(f"Users/ann/memories/what {number}?.md", "- a question\n")
    vault.write("Users/ann/memories/dot..md", "- fine\n")
    vault.write("Users/ann/memories/aux.md", "- reserved\n")

    reasons = [
        check["reason"] for check in vault.ok("doctor")["checks"] if check["name"] == "names"
    ]

    assert len(reasons) == 2
    assert reasons[0].startswith("`Users/ann/memories/aux.md`: ")
    assert reasons[1].startswith("9 files (`Users/ann/memories/what 0?.md`, ")
    assert reasons[1].endswith(" and 4 more): '?' cannot be in a name on Windows")


def test_a_broken_file_is_opened_by_edit_and_checked(vault: Outside, editor: Path) -> None:
    file = config_file(vault)
    file.write_text("[recall\n")

    done = vault.run("config", "edit")

    assert done.code == 3
    assert editor.read_text().strip() == str(file)
    assert "not valid TOML" in done.out
