"""What goes wrong is said plainly: an exit code, a message and a hint; on stderr, or with --json on stdout."""

import dataclasses
import json
import shlex
import shutil
import subprocess
from pathlib import Path

import apsw
import pytest

from tests.scenarios.index_dump import index_file
from tests.scenarios.outside import Done, Outside, at


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    return dataclasses.replace(at(tmp_path), quick=True)


def refused(done: Done, code: int, said: str = "", *, hint: bool = True) -> None:
    """An error for a person, and nothing else."""
    assert done.code == code, done
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert said in done.err
    assert not hint or "\n\nhint: " in done.err


def refused_in_json(done: Done, code: int, name: str) -> None:
    """The same for a program: one object, on stdout."""
    assert done.code == code, done
    assert done.err == ""
    assert set(done.json) == {"error"}
    assert done.error["code"] == name
    assert done.error["message"]
    assert isinstance(done.error["hint"], str)


def test_without_a_vault_the_exit_code_is_3(outside: Outside):
    refused(outside.bare("search", "tea"), 3, "no vault")
    refused_in_json(outside.bare("search", "tea", "--json"), 3, "no_vault")


def test_a_missing_folder_exits_with_4(outside: Outside):
    refused(outside.bare("search", "tea", "--vault", "nowhere"), 4, "does not exist")
    refused_in_json(outside.bare("--json", "notes", "--vault", "nowhere"), 4, "vault_unreachable")


def test_a_file_is_not_a_vault(outside: Outside):
    file = outside.home / "file.md"
    file.write_text("- tea\n")

    refused(outside.bare("--vault", str(file), "search", "tea"), 4, "not a folder")


@pytest.mark.parametrize("name", ["a" * 5000, "a/" * 3000])
def test_a_name_too_long_for_the_system_is_no_vault(outside: Outside, name: str):
    done = outside.bare("--vault", name, "search", "tea")

    refused(done, 2 if "/" not in name else 4)
    assert outside.bare("init", name).code in (1, 2, 4)


@pytest.mark.parametrize(
    "arguments",
    [
        ["serch", "tea"],
        ["search"],
        ["search", "tea", "--nope"],
        ["search", "tea", "--limit", "none"],
        ["search", "tea", "--limit", "0"],
        ["search", "tea", "--limit", "-1"],
        ["search", "tea", "--limit", "99999999999999999999"],
        ["search", "tea", "--since", "in olden times"],
        ["search", "tea", "--until", "2026-02-30"],
        ["search", "tea", "--mode", "magic"],
        ["search", "tea", "--now", "noon"],
        ["read"],
        ["read", "../x"],
        ["read", "/etc/passwd"],
        ["read", "memory/../../x"],
        ["read", ""],
        ["read", "a\nb.md"],
        ["read", "..\\x"],
        ["index", "../x"],
        ["init", "--copied", "--moved"],
        ["--vault"],
        ["--nope"],
    ],
)
def test_a_usage_error_exits_with_2_in_plain_text_and_json(outside: Outside, arguments: list[str]):
    refused(outside.run(*arguments), 2)
    done = outside.run("--json", *arguments)
    assert (done.code, done.err) == (2, "")
    assert done.error["message"]


@pytest.mark.parametrize(
    "before", [[], ["search", "tea", "--since", "never"], ["serch"], ["search", "x", "--nope"]]
)
def test_the_json_option_works_in_every_position(outside: Outside, before: list[str]):
    done = outside.run(*(before or ["search"]), "--json")

    assert (done.code, done.err) == (2, "")
    assert done.error["message"]


def test_a_query_after_two_dashes_may_look_like_an_option(outside: Outside):
    outside.write("USER.md", "- the flag --json is nice\n")

    done = outside.run("search", "--", "--json")

    assert done.code == 0
    assert "the flag --json is nice" in done.out
    assert not done.out.startswith("{")


def test_an_unknown_command_suggests_the_nearest_one(outside: Outside):
    assert "`search`" in outside.run("serch", "tea").err


def test_running_without_a_command_shows_the_help(outside: Outside):
    done = outside.bare()

    assert "Usage: vault-memory" in done.out + done.err
    assert "error: Usage" not in done.err


@pytest.mark.parametrize(
    "name",
    [
        "USER2.md",
        "memory/none.md",
        "%2e%2e/x",
        "%2e%2e%2fetc%2fpasswd",
        "a" * 300,
        "a/" * 2500 + "b",
    ],
)
def test_a_missing_note_exits_with_1_and_a_hint(outside: Outside, name: str):
    done = outside.run("read", name)

    assert done.code in (1, 2)
    assert done.err.startswith("error: ")
    assert done.out == ""


def test_the_hint_names_the_command_that_lists_notes(outside: Outside):
    done = outside.run("read", "none.md", "--json")

    refused_in_json(done, 1, "note_not_found")
    assert "vault-memory notes" in done.error["hint"]
    assert done.error["path"] == "none.md"


def test_a_folder_is_not_a_note(outside: Outside):
    outside.write("memory/a.md", "- tea\n")

    assert outside.run("read", "memory").code == 1


def test_a_symlink_out_of_the_vault_is_not_read(outside: Outside):
    secret = outside.home / "secret.md"
    secret.write_text("- the word is swordfish\n")
    outside.write("memory/a.md", "- tea\n")
    (outside.vault / "memory" / "b.md").symlink_to(secret)
    (outside.vault / "memory" / "deep").symlink_to(outside.home)

    for name in ("memory/b.md", "memory/deep/secret.md"):
        done = outside.run("read", name)
        assert done.code != 0
        assert "swordfish" not in done.out + done.err
    assert not outside.finds("swordfish")


def test_one_error_lists_all_problems_of_the_configuration(outside: Outside):
    file = outside.home / "own.toml"
    file.write_text(
        '[recall]\nmemory_budget = "many"\nmood = "good"\n[watch]\npoll_seconds = "often"\n[nope]\n'
    )

    done = outside.run("search", "tea", "--config", str(file), "--json")

    refused_in_json(done, 3, "config_error")
    problems = "\n".join(done.error["problems"])
    for word in (
        "recall.memory_budget",
        "recall.mood",
        "mode",
        "watch.poll_seconds",
        "nope",
        str(file),
    ):
        assert word in problems, problems
    refused(outside.run("search", "tea", "--config", str(file)), 3, "recall.mood")


@pytest.mark.parametrize(
    "text",
    [
        "[recall\n",
        "recall = 3\n",
        "\x00",
        "[recall]\nmemory_budget = -1\n",
        "[watch]\npoll_seconds = 0\n",
        "[watch]\nsweep_seconds = nan\n",
        "[embedding]\nkind = 'magic'\n",
        "[embedding]\ndimensions = -1\n",
        "[retention]\naudit_days = -1\n",
        "[[layout.patterns]]\npath = 'x/{nope}.md'\nkind = 'note'\nscope = 'user:a'\n",
        "[[layout.patterns]]\npath = 'x/{name}.md'\nkind = 'nope'\nscope = 'user:a'\n",
        "[[layout.patterns]]\npath = 'x/{name}.md'\n",
    ],
)
def test_an_invalid_configuration_exits_with_3(outside: Outside, text: str):
    file = outside.home / "own.toml"
    file.write_text(text)

    outside.settings.clear()
    refused(outside.run("search", "tea", "--config", str(file)), 3, hint=False)


def test_a_missing_configuration_file_exits_with_3(outside: Outside):
    refused(outside.run("search", "tea", "--config", "none.toml"), 3, "none.toml")
    refused(outside.run("search", "tea", "--config", str(outside.home)), 3, hint=False)


def test_environment_variables_are_validated_like_a_file(outside: Outside):
    for name in (
        "VAULT_MEMORY_RECALL_MEMORY_BUDGET",
        "VAULT_MEMORY_RECALL_MOOD",
        "VAULT_MEMORY_NOPE",
    ):
        done = outside.run("search", "tea", "--json", env=outside.environment | {name: "many"})
        refused_in_json(done, 3, "config_error")


def test_a_state_folder_that_cannot_be_created_is_reported_without_a_traceback(outside: Outside):
    outside.write("USER.md", "- tea\n")
    (outside.home / "taken").write_text("a file where the state should be")
    for state in (outside.home / "taken", outside.home / "taken" / "deeper", Path("/proc/nothing")):
        done = outside.run(
            "search", "tea", env=outside.environment | {"VAULT_MEMORY_STATE": str(state)}
        )
        refused(done, 3, str(state))
        assert "bug" not in done.err


def read_only(*folders: Path) -> list[str]:
    """What to put before a command so that it sees these folders mounted read-only."""
    mounts = " && ".join(
        f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}" for folder in folders
    )
    before = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        f'{mounts} && exec "$@"',
        "sh",
    ]
    try:
        done = subprocess.run(
            [*before, "touch", str(folders[0] / "x")], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no `unshare`")
    if "Read-only" not in done.stderr:
        pytest.skip(f"no folder can be made read-only here: {done.stderr}")
    return before


@pytest.mark.sampled
def test_a_read_only_state_folder_is_reported_without_a_traceback(outside: Outside):
    outside.write("USER.md", "- tea\n")
    assert outside.finds("tea")

    for command in (["search", "tea"], ["run"], ["doctor"]):
        refused(
            outside.run(*command, before=read_only(outside.home / "state")), 3, "cannot be written"
        )


@pytest.mark.sampled
def test_a_read_only_vault_with_a_marker_is_served(outside: Outside):
    outside.write("USER.md", "- tea\n")
    outside.ok("index")
    before = read_only(outside.vault)

    outside.write("USER.md", "- coffee\n")
    assert "coffee" in outside.run("search", "coffee", before=before).out
    with outside.daemon(before=before) as daemon:
        outside.write("USER.md", "- cocoa\n")
        daemon.until_found("cocoa")


def test_a_read_only_folder_without_a_marker_is_searched_and_not_written(outside: Outside):
    outside.write("USER.md", "- tea\n")
    before = read_only(outside.vault)

    assert "tea" in outside.run("search", "tea", before=before).out
    refused(outside.run("index", before=before), 1, "writable once")


def test_the_person_decides_which_of_two_copies_is_the_vault(outside: Outside):
    outside.write("USER.md", "- tea\n")
    outside.ok("index")
    copy = Outside(outside.home / "copy", outside.home, quick=True)
    shutil.copytree(outside.vault, copy.vault)

    done = copy.run("search", "tea", "--json")
    refused_in_json(done, 3, "two_copies")
    assert "--copied" in done.error["hint"]
    assert "--moved" in done.error["hint"]

    assert (
        copy.ok("init", str(copy.vault), "--copied")["id"]
        != json.loads((outside.vault / ".vault-memory").read_text())["vault"]
    )
    copy.write("USER.md", "- coffee\n")
    assert copy.finds("coffee")
    assert outside.finds("tea")
    assert not outside.finds("coffee")


def test_a_moved_vault_keeps_its_state(outside: Outside):
    outside.write("USER.md", "- tea\n")
    outside.ok("index")
    state = outside.state
    moved = Outside(outside.home / "moved", outside.home, quick=True)
    outside.vault.rename(moved.vault)

    assert moved.finds("tea")
    assert moved.state == state


def test_a_copy_that_replaces_the_vault_keeps_its_id(outside: Outside):
    outside.write("USER.md", "- tea\n")
    outside.ok("index")
    copy = Outside(outside.home / "copy", outside.home, quick=True)
    shutil.copytree(outside.vault, copy.vault)

    copy.ok("init", str(copy.vault), "--moved")

    assert copy.state == outside.state
    assert copy.finds("tea")
    refused_in_json(outside.run("search", "tea", "--json"), 3, "two_copies")


def test_an_index_of_a_newer_version_is_refused_until_it_is_rebuilt(outside: Outside):
    outside.write("USER.md", "- tea\n")
    outside.ok("index")
    with apsw.Connection(str(index_file(outside.state))) as connection:
        connection.pragma("user_version", 99)
    connection.close()

    for command in (["search", "tea"], ["notes"], ["run"], ["index"], ["status"]):
        done = outside.run(*command, "--json")
        refused_in_json(done, 1, "index_too_new")
        assert "index --rebuild" in done.error["hint"]
    assert outside.ok("index", "--rebuild")["notes"] == 1
    assert outside.finds("tea")


def test_a_vault_of_a_newer_version_is_left_alone(outside: Outside):
    outside.write(".vault-memory", json.dumps({"vault": "0" * 32, "format": 2}))

    refused(outside.run("search", "tea"), 3, "newer")


@pytest.mark.parametrize(
    ("below", "command"),
    [("", "vault-memory init ."), ("daily/2026", "vault-memory init {folder}")],
)
def test_in_a_vault_of_obsidian_the_hint_is_to_set_it_up(
    outside: Outside, below: str, command: str
):
    folder = outside.home.resolve() / "my notes"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "daily/2026").mkdir(parents=True)

    done = outside.bare("search", "tea", cwd=folder / below)

    assert done.code == 3
    assert command.format(folder=shlex.quote(str(folder))) in done.err
    assert sorted(path.name for path in folder.iterdir()) == [".obsidian", "daily"]
