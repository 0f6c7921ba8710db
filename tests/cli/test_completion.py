"""The Tab key completes commands, options and names of the vault in real shells, and changes nothing."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.every import every
from tests.scenarios.outside import Outside
from vault_memory.cli.completer import split

SECONDS = 40
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "bind 'set enable-bracketed-paste off'; . {script}; echo rea''dy",
    ),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; . {script}; echo rea''dy"),
}


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write("Users/anna/memories/boat.md", "# Boat\n\n- red\n")
    outside.write("Users/bo/lantern/config/FACTS.md", "## bo\n\n- lives_in: Gull Rock\n")
    outside.write("Channels/harbour/memories/2026-01-02.md", "- the gate is shut\n")
    outside.write("memory/two words.md", "- the lamp\n")
    assert outside.here("index", "--no-embed").code == 0
    turn = ("record", "I like kelp", "--role", "user", "--user", "anna")
    assert outside.here(*turn, "--session", "morning-talk").code == 0
    return outside


def ask(vault: Outside, *words: str, **changes: str) -> list[str]:
    """The values that the program names for a command line."""
    done = subprocess.run(
        [sys.executable, "-m", "vault_memory", "__complete", "fish", *words],
        env={**vault.environment, "VAULT_MEMORY_VAULT": str(vault.vault), **changes},
        cwd=vault.home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["fac"], ["facts", "fact"]),
        (["fact", "co"], ["correct", "confirm"]),
        (["fact", "list", "--ent"], ["--entity"]),
        (["fact", "timeline", "b"], ["bo"]),
        (["facts", "--ent"], ["--entity"]),
        (["search", "lamp", "--user", ""], ["anna", "bo"]),
        (["search", "--user=a"], ["--user=anna"]),
        (["search", "--channel", "h"], ["harbour"]),
        (["search", "--kind", "fa"], ["facts"]),
        (["search", "--mode", "sem"], ["semantic"]),
        (["search", "--", "--us"], []),
        (["read", "Users/an"], ["Users/anna/"]),
        (["read", "memory/"], ["memory/two words.md"]),
        (["end-session", "mor"], ["morning-talk"]),
        (["timeline", "b"], ["bo"]),
        (["install", "claude-c"], ["claude-code"]),
        (["remote", "st"], ["status"]),
        (["completion", "z"], ["zsh"]),
        (["no-such-command", "--"], []),
    ],
    ids=" ".join,
)
def test_values_come_from_the_command_and_the_vault(
    vault: Outside, words: list[str], values: list[str]
):
    expected = ["values", *values]
    if words == ["no-such-command", "--"]:
        assert ask(vault, *words)[0] == "values"
    else:
        assert ask(vault, *words) == expected


def test_files_and_folders_are_left_to_the_shell(vault: Outside):
    assert ask(vault, "--vault", "/t") == ["folders"]
    assert ask(vault, "import", "") == ["files"]


def test_the_vault_of_the_command_line_is_completed(vault: Outside, tmp_path: Path):
    other = tmp_path / "other"
    (other / "elsewhere").mkdir(parents=True)

    assert ask(vault, "read", "--vault", str(other), "") == ["values", "elsewhere/"]
    assert ask(vault, f"--vault={other}", "read", "") == ["values", "elsewhere/"]


def test_completing_changes_no_file(vault: Outside):
    before = files(vault.home.parent)

    for words in (["search", "--user", ""], ["read", ""], ["end-session", ""]):
        assert len(ask(vault, *words)) > 1

    assert files(vault.home.parent) == before


@pytest.mark.sampled
@pytest.mark.parametrize("trouble", ["missing", "empty", "damaged", "index"])
def test_trouble_with_the_vault_completes_nothing_and_prints_no_error(
    vault: Outside, tmp_path: Path, trouble: str
):
    folder = tmp_path / trouble
    if trouble != "missing":
        folder.mkdir()
    if trouble == "damaged":
        (folder / ".vault-memory").write_bytes(b"\xff{")
    if trouble == "index":
        folder = vault.vault
        [index] = vault.home.parent.rglob("index-1.sqlite")
        index.write_bytes(b"no database" * 999)

    answer = ask(vault, "search", "--user", "", VAULT_MEMORY_VAULT=str(folder))

    assert answer in ([], ["values"])


@pytest.mark.sampled
def test_the_program_survives_any_call_of_a_shell(vault: Outside):
    for words in ([], [""], ["--"], ["-"], ["--="], ["search", "--user=\udcff"]):
        ask(vault, *words)


@every(
    ("text", "before", "word"),
    [
        ("vault-memory read 'two wo", ["read"], "two wo"),
        ("vault-memory read two\\ wo", ["read"], "two wo"),
        ('vault-memory  search "a b" ', ["search", "a b"], ""),
        ("vault-memory search --user=m", ["search"], "--user=m"),
    ],
)
def test_an_unfinished_line_is_split_as_the_shell_does(text: str, before: list[str], word: str):
    line = split(text)

    assert (line.before, line.word) == (before, word)


def press_tab(shell: str, vault: Outside, typed: str, expected: str) -> str:
    """What the shell shows when a person types and presses Tab, until the expected text is there."""
    command, setup = SHELLS[shell]
    script = vault.home / "script"
    written = vault.bare("completion", shell)
    assert written.code == 0, written
    script.write_text(written.out)
    environment = {
        **vault.environment,
        "VAULT_MEMORY_VAULT": str(vault.vault),
        "PATH": f"{program_folder(vault)}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
        "COLUMNS": "200",
    }
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(vault.home)
        os.execvpe(command[0], command, environment)
    try:
        os.write(terminal, f"{setup.format(script=script)}\n".encode())
        read_until(terminal, "ready")
        os.write(terminal, f"{typed}\t".encode())
        return read_until(terminal, expected)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def read_until(terminal: int, expected: str) -> str:
    shown = ""
    deadline = time.monotonic() + SECONDS
    while expected not in shown.replace("\r", ""):
        assert time.monotonic() < deadline, shown
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            shown += os.read(terminal, 65536).decode("utf-8", "replace")
    return shown


def program_folder(vault: Outside) -> Path:
    folder = vault.home / "bin"
    folder.mkdir(exist_ok=True)
    file = folder / "vault-memory"
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vault_memory "$@"\n')
    file.chmod(0o755)
    return folder


@pytest.mark.sampled
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("vault-memory tim", "timeline "),
        ("vault-memory search lamp --user an", "--user anna "),
        ("vault-memory search lamp --user=an", "--user=anna "),
        ("vault-memory read Users/an", "Users/anna/"),
        ("vault-memory read memory/two", "memory/two\\ words.md "),
        ("vault-memory end-session mor", "morning-talk "),
    ],
)
def test_the_tab_key_completes_in_a_real_shell(
    vault: Outside, shell: str, typed: str, expected: str
):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    press_tab(shell, vault, typed, expected)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("vault-memory tim", "timeline"),
        ("vault-memory search lamp --user an", "anna"),
        ("vault-memory search lamp --user=an", "--user=anna"),
        ("vault-memory read memory/", "memory/two words.md"),
        ("vault-memory --vault ", "bin/"),
    ],
)
def test_fish_lists_the_same_completions(vault: Outside, typed: str, expected: str):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = vault.home / "script.fish"
    script.write_text(vault.bare("completion", "fish").out)
    environment = {
        **vault.environment,
        "VAULT_MEMORY_VAULT": str(vault.vault),
        "PATH": f"{program_folder(vault)}{os.pathsep}{os.environ['PATH']}",
    }

    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C '{typed}'"],
        env=environment,
        cwd=vault.home,
        capture_output=True,
        text=True,
        timeout=60,
    )

    values = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert expected in values, done


@pytest.mark.sampled
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_second_installation_changes_nothing(outside: Outside, shell: str):
    zshrc = outside.home / ".zshrc"
    zshrc.write_text("alias x=y")
    environment = {**outside.environment, "HOME": str(outside.home)}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        environment.pop(name, None)

    def install() -> str:
        command = [sys.executable, "-m", "vault_memory", "completion", shell]
        done = subprocess.run(
            [*command, "--install"],
            env=environment,
            cwd=outside.home,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout

    first = install()
    text = zshrc.read_text()
    install()

    assert "to undo it: delete " in first
    assert zshrc.read_text() == text
    assert text.startswith("alias x=y")
    assert text.count("vault-memory.zsh") == (2 if shell == "zsh" else 0)
