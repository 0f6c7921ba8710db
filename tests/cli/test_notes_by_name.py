"""Each command that reads or restores one note takes its name or alias, and offers near names."""

import pytest

from tests.scenarios.outside import Outside

PATH = "memory/boats/Home port.md"
COMMANDS = {
    "read": ("read",),
    "history": ("history",),
    "links": ("links",),
    "open": ("open", "--print"),
    "log": ("log",),
    "restore": ("restore", "--revision", "0", "--dry-run"),
    "read --revision": ("read", "--revision", "0"),
}


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.quick = True
    outside.settings |= {"EDITOR": "vim", "VISUAL": ""}
    outside.write(PATH, "---\naliases: [berth]\n---\n# Home port\n\n## Quay\n\n- a\n")
    assert outside.run("append", PATH, "Quay", "the third ring").code == 0
    return outside


def first_revision(vault: Outside) -> str:
    versions = vault.ok("history", PATH)["versions"]
    return str(versions[-1]["revision"])


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["Home port", "home port.md", "berth"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_or_alias_does_what_the_path_does(vault: Outside, command: str, name: str) -> None:
    first = first_revision(vault)
    words = [first if word == "0" else word for word in COMMANDS[command]]

    by_path = vault.run(*words, PATH)
    by_name = vault.run(*words, name)

    assert by_path.code == by_name.code == 0
    assert by_name.out == by_path.out


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_name_is_answered_by_a_near_one(vault: Outside, command: str) -> None:
    done = vault.run(*COMMANDS[command], "Home prot")

    assert done.code == 1
    assert "there is no note `Home prot`" in done.err
    assert f"did you mean `{PATH}`?" in done.err


def test_a_note_opens_by_name_at_a_line(vault: Outside) -> None:
    done = vault.run("open", "berth:4", "--print")

    path = (vault.vault / PATH).resolve()
    assert done.out == f"vim +4 '{path}'\n"


def test_a_restore_by_name_tells_which_note_it_is(vault: Outside) -> None:
    first = first_revision(vault)

    done = vault.run("restore", "berth", "--revision", first)

    assert done.code == 0
    assert f"`berth` is {PATH}" in done.err
    assert "the third ring" not in (vault.vault / PATH).read_text()


def test_the_log_of_a_deleted_note_is_found_by_its_path(vault: Outside) -> None:
    (vault.vault / PATH).unlink()

    assert len(vault.ok("log", PATH)["records"]) == 1
