"""Data to stdout, remarks to stderr, no colour where none is wanted; and what a shell may do to a command."""

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.outside import PROGRAM, Outside, until


def shell(outside: Outside, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line for bash, in which `$vm` is the command with its vault."""
    vm = shlex.join(outside.command())
    return subprocess.run(
        ["bash", "-c", f'set -o pipefail; vm() {{ {vm} "$@"; }}; {line}'],
        env=outside.environment | environment,
        cwd=outside.home,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def vault_with_tea(outside: Outside) -> Outside:
    outside.write("USER.md", "# Me\n\n- green tea, naïve café, 茶 ☕\n")
    assert outside.here("index", "--no-embed").code == 0
    return outside


def test_hits_go_to_stdout_and_remarks_to_stderr(vault_with_tea: Outside):
    done = vault_with_tea.run("search", "tea")

    assert "green tea" in done.out
    assert "semantic: off (switched off in the configuration)" in done.err
    assert "semantic" not in done.out
    assert vault_with_tea.run("search", "tea", "--quiet").err == ""


def test_reading_prints_only_the_bytes_of_the_note(vault_with_tea: Outside):
    note = vault_with_tea.write("memory/a.md", b"\xef\xbb\xbf# A\r\n\r\n- one\r\n")
    with note.open("rb") as raw:
        done = subprocess.run(
            vault_with_tea.command("read", "memory/a.md"),
            env=vault_with_tea.environment,
            capture_output=True,
        )

        assert done.stdout == raw.read()
    assert b"revision" in done.stderr


def test_only_terminals_without_no_color_get_colours(vault_with_tea: Outside):
    def terminal_output(**environment: str) -> bytes:
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            vault_with_tea.command("search", "tea"),
            env={**vault_with_tea.environment, **environment},
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        process.wait(120)
        said = os.read(leader, 65536)
        os.close(leader)
        return said

    assert b"\x1b[" in terminal_output(NO_COLOR="")
    assert b"\x1b[" not in terminal_output(NO_COLOR="1")
    assert (
        "\x1b["
        not in vault_with_tea.run(
            "search", "tea", env={**vault_with_tea.environment, "NO_COLOR": ""}
        ).out
    )


def test_a_reader_that_closes_the_pipe_causes_no_error(vault_with_tea: Outside):
    for number in range(300):
        vault_with_tea.write(
            f"memory/{number}.md", f"- note number {number} of many, with some words in it\n"
        )

    done = shell(
        vault_with_tea,
        "vm notes | true; vm search --limit 1000 many words | head -1; exit ${PIPESTATUS[0]}",
    )

    assert done.stderr == "semantic: off (switched off in the configuration)\n"
    assert done.returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_cause_no_error(vault_with_tea: Outside, closed: str):
    assert shell(vault_with_tea, f"vm search tea {closed}").returncode == 0
    assert shell(vault_with_tea, f"vm search tea --since never {closed}").returncode == 2


def test_a_full_disk_behind_stdout_is_reported(vault_with_tea: Outside):
    done = shell(vault_with_tea, "vm search tea > /dev/full")

    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.parametrize(
    "environment",
    [{"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "xx_XX.KOI8"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["C", "unknown", "ascii"],
)
def test_a_terminal_without_unicode_still_gets_an_answer(
    vault_with_tea: Outside, environment: dict[str, str]
):
    env = vault_with_tea.environment | environment
    in_json = vault_with_tea.run("search", "茶", "--json", env=env)
    assert "naïve café, 茶 ☕" in in_json.json["hits"][0]["text"]

    done = vault_with_tea.run("search", "茶", env=env)
    assert done.code == 0
    assert "green tea" in done.out


def test_a_state_folder_may_be_deeper_than_a_socket_path_allows(vault_with_tea: Outside):
    deep = vault_with_tea.home / "/".join(["a-long-name-of-a-folder"] * 8)
    vault_with_tea.settings["VAULT_MEMORY_STATE"] = str(deep)

    with vault_with_tea.daemon() as daemon:
        assert len(str(vault_with_tea.socket)) > 150
        assert vault_with_tea.ok("status")["daemon"]["pid"] == daemon.pid
        assert daemon.stop()[0] == 0
    assert not vault_with_tea.socket.exists()


def test_the_vault_is_found_by_the_nearest_marker_above(vault_with_tea: Outside):
    vault_with_tea.write("memory/deep/a.md", "- coffee\n")

    done = subprocess.run(
        [*PROGRAM, "search", "coffee", "--json"],
        env=vault_with_tea.environment,
        cwd=vault_with_tea.vault / "memory" / "deep",
        capture_output=True,
        text=True,
    )

    assert "coffee" in done.stdout


def test_the_environment_may_name_the_vault_and_a_flag_overrides_it(vault_with_tea: Outside):
    other = Outside(vault_with_tea.home / "other", vault_with_tea.home)
    other.write("USER.md", "- cocoa\n")
    env = vault_with_tea.environment | {"VAULT_MEMORY_VAULT": str(other.vault)}

    assert "cocoa" in vault_with_tea.bare("search", "cocoa", env=env).out
    assert (
        "cocoa"
        not in vault_with_tea.bare(
            "search", "cocoa", "--vault", str(vault_with_tea.vault), env=env
        ).out
    )


def test_the_environment_may_name_the_configuration_and_a_flag_overrides_it(
    vault_with_tea: Outside,
):
    def settings_file(name: str, most: int) -> Path:
        file = vault_with_tea.home / name
        file.write_text(f"max_memory_chars = {most}\n")
        return file

    for number in range(5):
        vault_with_tea.write(f"memory/{number}.md", f"- tea number {number}\n")
    env = vault_with_tea.settings | {"VAULT_MEMORY_CONFIG": str(settings_file("two.toml", 400))}

    def lines(*options: str, **more: str) -> int:
        vault_with_tea.settings = {**env, **more}
        block = vault_with_tea.here("context", "tea", "--json", *options).json["text"]
        assert isinstance(block, str)
        return block.count("tea number")

    assert lines() == 1
    assert lines("--config", str(settings_file("three.toml", 500))) == 2
    assert lines(VAULT_MEMORY_MAX_MEMORY_CHARS="600") == 3
    assert lines("--budget", "300", VAULT_MEMORY_MAX_MEMORY_CHARS="600") == 0


def test_a_custom_layout_is_used(vault_with_tea: Outside):
    (vault_with_tea.state / "vault-memory.toml").write_text(
        "[[layout.patterns]]\npath = 'Journal/{user}/{date}.md'\nkind = 'dated'\nscope = 'user:{user}'\n"
    )
    vault_with_tea.write("Journal/ann/2026-02-03.md", "- saw a heron\n")

    [hit] = vault_with_tea.search("heron", "--user", "ann")["hits"]

    assert (hit["scope"], hit["kind"], hit["date"]) == ("user:ann", "dated", "2026-02-03")
    assert vault_with_tea.search("heron", "--user", "zoe")["hits"] == []


@pytest.mark.parametrize("command", [["index"], ["run"], ["search", "tea"]])
def test_ctrl_c_ends_a_command_without_a_traceback(vault_with_tea: Outside, command: list[str]):
    import signal

    process = subprocess.Popen(
        vault_with_tea.command(*command),
        env=vault_with_tea.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(
        lambda: (
            "python" not in Path(f"/proc/{process.pid}/comm").read_text() or _imported(process.pid)
        ),
        says=command,
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)

    assert "Traceback" not in err
    assert process.returncode in (0, 130, -signal.SIGINT), err


INTERRUPTED = """
import sys
import vault_memory.api.vault_memory
from vault_memory.cli import main

class Presses:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

    def __del__(self):
        raise KeyboardInterrupt

vault_memory.api.vault_memory.VaultMemory.open = lambda *given, **named: {}
sys.argv = ["vault-memory", "log"]
main()
"""


@pytest.mark.parametrize("where", ['type("Made", (), {"field": Presses()})', "Presses()"])
def test_ctrl_c_inside_a_class_body_or_finalizer_still_ends_quietly(
    vault_with_tea: Outside, where: str
):
    script = INTERRUPTED.replace("{}", where)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=vault_with_tea.environment,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def _imported(pid: int) -> bool:
    """Whether the process has come as far as our own code: it has loaded the database's library."""
    try:
        return "apsw" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return True


assert sys.platform.startswith("linux") or pytest.skip(
    "these tests use what only Linux has", allow_module_level=True
)
