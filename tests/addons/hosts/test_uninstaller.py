"""`uninstall` takes away what is ours on a machine, and no word that is nowhere else."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.addons.hosts.conftest import Install
from tests.cli.terminals import opened
from tests.conftest import PROJECT
from tests.contract.shapes import problems
from tests.scenarios.outside import PROGRAM, Done, Outside, until

HEADING = "Tea"
NOTE = "MEMORY.md"
KILLED = """
import os, signal, sys
from vault_memory.vault.fs import RealFiles
from vault_memory.cli import main

kept = RealFiles.exchange

def exchange(self, *names):
    if {after}:
        kept(self, *names)
    os.kill(os.getpid(), signal.SIGKILL)

RealFiles.exchange = exchange
main(sys.argv[1:])
"""
"""A command that is killed as it puts a note in its place"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> {log}
[ "$2" = stop ] && kill {pid} && tail --pid={pid} -f /dev/null
exit 0
"""


INTERRUPTED = """
import os, shutil, signal, sys
from vault_memory.cli import main

kept = shutil.rmtree

def rmtree(name, **options):
    if name == "index":
        {fault}
    kept(name, **options)

shutil.rmtree = rmtree
main(sys.argv[1:])
"""
"""A removal with a fault at the index"""


@pytest.fixture
def used(outside: Outside, install: Install) -> Outside:
    """A vault after some use: an edit, a turn, a search, a connected program, a fetched model."""
    outside.write(NOTE, f"# Notes\n\n## {HEADING}\n\n- green\n")
    outside.ok("append", NOTE, HEADING, "black")
    outside.ok("record", "--session", "s", "--role", "user", "--user", "mira", "Tea is hot")
    outside.search("green")
    install("cursor")
    (outside.home / "cache" / "models" / "multilingual").mkdir(parents=True)
    outside.quick = False
    return outside


def uninstall(outside: Outside, *options: str, **more: Any) -> Done:
    done = outside.bare("uninstall", *options, "--json", **more)
    assert "error" not in done.json, done
    assert not problems(["uninstall"], done.out)
    return done


def rows(done: Done, outcome: str) -> list[dict[str, str]]:
    return [row for row in done.json["items"] if row["outcome"] == outcome]


def names(done: Done, outcome: str) -> set[str]:
    return {Path(row["path"]).name for row in rows(done, outcome)}


def everything(folder: Path) -> dict[str, bytes | None]:
    """Each file and folder, but what SQLite makes to read a database."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.name.endswith(("-shm", "-wal"))
    }


def turns(outside: Outside) -> str:
    """All that is recorded."""
    return "".join(file.read_text() for file in outside.vault.rglob("transcripts/*.jsonl"))


def waiting_write(outside: Outside) -> None:
    """A write that waits, because the note may not be written."""
    (outside.vault / NOTE).chmod(0o444)
    assert outside.run("append", NOTE, HEADING, "oolong").code == 75


def drop(outside: Outside) -> None:
    """A turn of another program that nobody has recorded yet."""
    turn = {"source": "mail", "role": "user", "user": "mira", "session": "m", "text": "A parcel"}
    (outside.state / "drop").mkdir(exist_ok=True)
    (outside.state / "drop" / "mail.jsonl").write_text(json.dumps(turn) + "\n")


def removal(outside: Outside, fault: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(fault=fault), "uninstall", "--yes", "--purge"],
        env=outside.environment,
        cwd=PROJECT,
        check=False,
        timeout=120,
        capture_output=True,
        text=True,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def killed_write(outside: Outside, *, after: bool) -> None:
    command = [sys.executable, "-c", KILLED.format(after=after), "--vault", str(outside.vault)]
    done = subprocess.run(
        [*command, "append", NOTE, HEADING, "oolong"],
        env=outside.environment,
        cwd=PROJECT,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.smoke
def test_without_a_terminal_the_list_is_shown_and_nothing_is_removed(used: Outside) -> None:
    before = everything(used.home.parent)

    done = uninstall(used)

    assert (done.code, done.json["removed"]) == (1, False)
    assert "`--yes` removes what is listed" in done.err
    assert names(done, "found") >= {"mcp.json", used.state.name, "index", "hosts.json"}
    assert everything(used.home.parent) == before
    assert uninstall(used, "--dry-run").code == 0
    assert everything(used.home.parent) == before


@pytest.mark.smoke
def test_what_is_listed_goes_and_earlier_versions_stay(used: Outside) -> None:
    notes = everything(used.vault)
    listed = names(uninstall(used), "found")
    (used.home / "cache" / "models" / "of-somebody-else").mkdir()

    done = uninstall(used, "--yes")

    assert (done.code, done.json["removed"]) == (0, True), done
    assert listed <= names(done, "removed") | {used.state.name}
    assert {"journal.sqlite", "place.json", used.state.name} <= names(done, "stays")
    assert everything(used.vault) == notes
    assert not (used.home / ".cursor" / "mcp.json").exists()
    left = {name.split("/", 2)[-1] for name in everything(used.home / "state")}
    assert left == {"journal.sqlite", "place.json", "device", "places", used.state.name} | {
        file.name for file in (used.home / "state" / "places").iterdir()
    }
    assert os.listdir(used.home / "cache" / "models") == ["of-somebody-else"]
    # The program is installed again.
    versions = used.ok("history", NOTE)["versions"]
    assert len(versions) > 1
    assert used.finds("green")


@pytest.mark.parametrize("is_gone", [False, True])
def test_purge_leaves_nothing_also_without_the_vault(used: Outside, is_gone: bool) -> None:
    script = used.home / ".local" / "share" / "bash-completion" / "completions" / "vault-memory"
    used.settings["XDG_DATA_HOME"] = ""
    for shell in ("bash", "zsh", "fish"):
        used.ok("completion", shell, "--install")
    if is_gone:
        shutil.rmtree(used.vault)

    done = uninstall(used, "--purge", "--yes")

    assert done.code == 0, done
    assert not (used.home / "state").exists()
    assert not (used.home / "cache").exists()
    assert not script.exists()
    assert not [file for file in used.home.rglob("*") if file.name.startswith("vault-memory")]
    again = uninstall(used)
    assert (again.code, again.json) == (0, {"items": [], "removed": False})
    assert "nothing of ours is on this machine" in again.err


@pytest.mark.parametrize("after", [False, True])
def test_a_write_that_a_crash_interrupted_is_finished_first(used: Outside, after: bool) -> None:
    killed_write(used, after=after)

    assert uninstall(used, "--purge", "--yes").code == 0

    text = (used.vault / NOTE).read_text()
    records = (used.vault / f"{NOTE}.audit.jsonl").read_text()
    assert (text.count("oolong"), records.count('"op":"append"')) == (1, 2), records
    assert {name for name in os.listdir(used.vault) if name.startswith(".")} == {".vault-memory"}


@pytest.mark.parametrize(
    "begin", [waiting_write, drop, lambda outside: killed_write(outside, after=False)]
)
def test_a_vault_that_is_away_keeps_its_state_while_words_wait(
    used: Outside, begin: Callable[[Outside], None]
) -> None:
    begin(used)
    state = used.state
    away = used.vault.rename(used.vault.with_name("away"))
    before = everything(used.home)

    done = uninstall(used, "--yes")

    assert done.code == 1
    [row] = rows(done, "refused")
    assert (row["path"], f"Bring `{used.vault}` back" in row["why"]) == (str(state), True)
    assert everything(used.home) == before
    # It comes back.
    away.rename(used.vault)
    (used.vault / NOTE).chmod(0o644)
    assert uninstall(used, "--purge", "--yes").code == 0
    words = "".join(file.read_text() for file in used.vault.rglob("*") if file.is_file())
    assert "oolong" in words or "A parcel" in words


def test_words_of_a_vault_that_is_gone_for_good_go_when_told(used: Outside) -> None:
    drop(used)
    shutil.rmtree(used.vault)

    assert uninstall(used, "--yes").code == 1
    assert uninstall(used, "--purge", "--yes").code == 0

    assert not (used.home / "state").exists()


def test_a_note_that_cannot_be_written_stops_the_removal(used: Outside) -> None:
    waiting_write(used)

    done = uninstall(used, "--yes", "--purge")

    assert (done.code, [row["path"] for row in rows(done, "refused")]) == (1, [str(used.state)])
    assert (used.home / ".cursor" / "mcp.json").exists()
    assert (used.state / "index").exists()


def test_a_note_that_an_editor_has_open_stops_the_removal(used: Outside) -> None:
    with (used.vault / NOTE).open("a"):
        used.ok("append", NOTE, HEADING, "oolong")

        done = uninstall(used, "--yes")

        assert (done.code, [row["path"] for row in rows(done, "refused")]) == (1, [str(used.state)])
    assert uninstall(used, "--yes", "--purge").code == 0
    assert "oolong" in (used.vault / NOTE).read_text()


def test_a_turn_that_waits_is_recorded_first(used: Outside) -> None:
    drop(used)

    assert uninstall(used, "--yes").code == 0

    assert "A parcel" in turns(used)


ONLY_COPIES = (
    "drop/mail.rejected",
    "drafts/x/NOTE.md",
    "journal.sqlite.damaged-1",
    "index.sqlite.damaged-1",
    "sync.sqlite",
    "phrases/own.toml",
    "prompts/facts.md",
)


def test_only_copies_of_words_stay_until_told(used: Outside) -> None:
    for name in ONLY_COPIES:
        file = used.state / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("words")
    state = used.state
    (state / "remote-password").write_text("secret")
    (state / "vault-memory.toml").write_text("")

    done = uninstall(used, "--yes")

    assert done.code == 0, done
    assert names(done, "removed") >= {"remote-password", "vault-memory.toml"}
    assert all((state / name).read_text() == "words" for name in ONLY_COPIES)
    assert uninstall(used, "--yes", "--purge").code == 0
    assert not state.exists()


@pytest.mark.parametrize("command", [("run",), ("mcp", "--user", "mira"), ("python",)])
def test_nothing_goes_while_a_program_of_ours_runs(used: Outside, command: tuple[str, ...]) -> None:
    words = used.command(*command)
    if command == ("python",):
        script = "import sys, vault_memory as v\nm = v.VaultMemory.open(sys.argv[1])\n"
        script += "m.search('green', scopes=m.scopes())\nprint(flush=True)\nsys.stdin.read()"
        words = [sys.executable, "-c", script, str(used.vault)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, env=used.environment, cwd=used.home, **pipes) as process:
        if command == ("run",):
            until((used.state / "daemon.pid").exists)
        if command == ("python",):
            assert process.stdout
            process.stdout.readline()

        done = uninstall(used, "--yes", "--purge")

        assert done.code == 1
        assert str(process.pid) in [row["path"] for row in rows(done, "refused")]
        assert (used.home / ".cursor" / "mcp.json").exists()
        assert (used.state / "index").exists()
        process.kill()
    assert uninstall(used, "--yes", "--purge").code == 0


def test_our_services_are_stopped_and_units_of_others_stay(used: Outside) -> None:
    used.settings["XDG_CONFIG_HOME"] = ""
    units = used.home / ".config" / "systemd" / "user"
    used.ok("service", "install", "--user", "--for", "systemd")
    (units / "other.service").write_text("[Service]\nExecStart=/bin/true\n")
    folder = used.home / "bin"
    folder.mkdir()
    with used.daemon() as daemon:
        log = used.home / "systemctl.log"
        (folder / "systemctl").write_text(SYSTEMCTL.format(log=log, pid=daemon.pid))
        (folder / "systemctl").chmod(0o755)
        used.settings["PATH"] = f"{folder}:{os.environ['PATH']}"
        listed = uninstall(used)

        done = uninstall(used, "--yes")

    assert names(listed, "found") >= {"vault-memory.service"}
    assert not rows(listed, "refused")
    assert done.code == 0, done
    assert log.read_text().splitlines() == [
        "--user stop vault-memory.service",
        "--user daemon-reload",
    ]
    assert os.listdir(units) == ["other.service"]


def test_a_unit_that_a_person_changed_stops_the_removal(used: Outside) -> None:
    used.settings["XDG_CONFIG_HOME"] = ""
    used.ok("service", "install", "--user", "--for", "systemd")
    unit = used.home / ".config" / "systemd" / "user" / "vault-memory.service"
    unit.write_text(unit.read_text() + "# mine\n")

    done = uninstall(used, "--yes")

    assert [row["path"] for row in rows(done, "refused")] == [str(unit)]
    assert "was changed by hand" in rows(done, "refused")[0]["why"]
    assert unit.exists()
    assert (used.state / "index").exists()


def test_a_file_of_a_program_that_cannot_be_read_stops_the_removal(used: Outside) -> None:
    file = used.home / ".cursor" / "mcp.json"
    file.write_text(file.read_text() + "[")

    done = uninstall(used, "--yes")

    assert [row["path"] for row in rows(done, "refused")] == ["cursor"]
    assert (used.state / "hosts.json").exists()


def test_no_link_leads_the_removal_out_of_our_folders(used: Outside) -> None:
    mine = used.home / "mine"
    folders = ["index", "drop", "sessions/x", "cache", "state", "hosts"]
    for name in folders:
        (mine / name).mkdir(parents=True)
        (mine / name / "place.json").write_text("mine")
        (mine / name / ".lock").write_text("mine")
    before = everything(mine)
    state = used.state
    shutil.rmtree(state / "index")
    (state / "index").symlink_to(mine / "index")
    shutil.rmtree(state / "drop", ignore_errors=True)
    (state / "drop").symlink_to(mine / "drop")
    (state / "sessions" / "x").symlink_to(mine / "sessions")
    (state.parent / ("0" * 32)).symlink_to(mine / "state")
    (state.parent / "hosts").symlink_to(mine / "hosts")
    (mine / "hosts" / ("1" * 32)).mkdir()
    shutil.rmtree(used.home / "cache" / "models")
    (used.home / "cache" / "models").symlink_to(mine / "cache")
    before = everything(mine)

    uninstall(used, "--yes", "--purge")

    assert everything(mine) == before
    assert not state.exists()
    assert sorted(os.listdir(state.parent)) == ["0" * 32, "hosts"]


def test_a_vault_and_files_of_others_in_our_folders_stay(used: Outside) -> None:
    vault = used.state / "vault"
    vault.mkdir()
    (vault / ".vault-memory").write_text("{}")
    (vault / NOTE).write_text("words")
    host = used.state.parent / "hosts" / ("4" * 32)
    shutil.copytree(vault, host / "vault")
    (host / "host.lock").write_text("")
    others = used.state.parent / "others.txt"
    others.write_text("")
    (used.state.parent / "hook.logbook").write_text("")
    shutil.rmtree(used.state.parent / "places")
    alike = [
        used.state.parent / ("2" * 32) / "index",
        used.state.parent / "hosts" / ("3" * 32) / "index",
        used.state.parent / "places" / "rome.txt",
        used.home / "cache" / "models" / "multilingual-large" / "weights",
    ]
    for file in alike:
        file.parent.mkdir(parents=True)
        file.write_text("")
    scratch = used.state.parent / "fleet" / "east"
    scratch.mkdir(parents=True)

    done = uninstall(used, "--yes", "--purge")

    assert done.code == 0, done
    assert {"vault", "4" * 32, "fleet", "state"} <= names(done, "stays")
    assert f"these are not ours: {'2' * 32}, hook.logbook, hosts, others.txt" in done.out
    assert (host / "vault" / NOTE).read_text() == "words"
    assert all(file.exists() for file in alike)
    assert (vault / NOTE).read_text() == "words"
    assert others.exists()
    assert scratch.exists()


def test_folders_that_a_person_put_elsewhere_by_a_link_are_emptied(used: Outside) -> None:
    elsewhere = used.home / "elsewhere"
    (used.home / "state").rename(elsewhere)
    (used.home / "state").symlink_to(elsewhere)

    done = uninstall(used, "--yes", "--purge")

    assert done.code == 0, done
    assert not elsewhere.exists()


def test_after_a_crash_in_between_the_rest_goes_with_the_next_call(used: Outside) -> None:
    notes = everything(used.vault)
    state = used.state

    assert removal(used, "os.kill(os.getpid(), signal.SIGKILL)").code == -signal.SIGKILL
    assert (state / "place.json").exists()
    assert uninstall(used, "--yes", "--purge").code == 0

    assert not (used.home / "state").exists()
    assert everything(used.vault) == notes


def test_what_cannot_be_removed_is_named_and_the_rest_goes(used: Outside) -> None:
    state = used.state

    done = removal(used, "raise PermissionError(1, 'Operation not permitted', name)")

    assert done.code == 1
    assert f"not removed: {state}/index: made from the notes: Operation not permitted" in done.out
    assert f"not removed: {state}: the state of `{used.vault}`: Directory not empty" in done.out
    assert "not all was removed" in done.err
    assert sorted(os.listdir(state)) == ["index", "place.json"]
    assert uninstall(used, "--yes", "--purge").code == 0
    assert not state.exists()


def test_settings_that_are_wrong_stop_the_removal_while_words_wait(used: Outside) -> None:
    drop(used)
    (used.state / "vault-memory.toml").write_text("[[[")

    done = uninstall(used, "--yes", "--purge")

    assert done.code == 1
    assert "vault-memory.toml` is not valid TOML" in rows(done, "refused")[0]["why"]
    assert (used.state / "drop" / "mail.jsonl").exists()


def test_a_project_is_disconnected(used: Outside) -> None:
    code = used.home / "code"
    code.mkdir()
    (code / "main.py").write_text("")
    used.settings["CLAUDE_CONFIG_DIR"] = ""
    used.ok("install", "claude-code", "--user", "mira", "--project", str(code))

    assert {".mcp.json", "settings.json"} <= names(uninstall(used), "found")
    assert uninstall(used, "--yes").code == 0

    assert os.listdir(code) == ["main.py"]
    assert not (used.home / ".claude" / "settings.json").exists()


def test_a_program_gets_its_own_folder_of_notes_back(used: Outside) -> None:
    settings = used.home / ".claude" / "settings.json"
    used.settings["CLAUDE_CONFIG_DIR"] = ""
    used.ok("install", "claude-code", "--user", "mira", "--adopt")
    assert str(used.vault) in settings.read_text()
    shutil.rmtree(used.vault)

    assert uninstall(used, "--yes").code == 0

    assert not settings.exists()


def test_nothing_goes_while_a_host_of_many_vaults_runs(used: Outside) -> None:
    command = [*PROGRAM, "host", "--vaults", str(used.vault.parent), "--no-http"]
    with subprocess.Popen(command, env=used.environment, cwd=used.home) as process:
        until(lambda: list(used.state.parent.glob("hosts/*/host.pid")))

        done = uninstall(used, "--yes", "--purge")

        assert str(process.pid) in [row["path"] for row in rows(done, "refused")]
        process.terminate()
    assert uninstall(used, "--yes", "--purge").code == 0
    assert not (used.home / "state").exists()


def test_on_a_terminal_a_person_is_asked(used: Outside) -> None:
    used.settings["TERM"] = "xterm"
    terminal = opened(used, "uninstall", columns=200)
    terminal.wait_for("Remove all of this?")
    terminal.type("n\n")

    assert terminal.end() == 0
    assert "nothing was removed" in terminal.plain
    assert (used.state / "index").exists()

    terminal = opened(used, "uninstall", columns=200)
    terminal.wait_for("Remove all of this?")
    later = [
        used.home / "state" / "hook.log",
        used.home / "cache" / "models" / "minilm",
        used.home / "state" / ("4" * 32) / "place.json",
    ]
    for file in later:
        file.parent.mkdir(exist_ok=True)
        file.write_text("{}")
    terminal.type("y\n")

    assert terminal.end() == 0
    assert not (used.state / "index").exists()
    assert all(file.exists() for file in later)
    assert "pipx uninstall vault-memory" in terminal.plain


def test_what_hooks_kept_while_the_state_folder_was_unusable_is_recorded(used: Outside) -> None:
    runtime = used.home / "runtime"
    runtime.mkdir()
    used.settings["XDG_RUNTIME_DIR"] = str(runtime)
    aside = runtime / f"vault-memory-{os.geteuid()}"
    shutil.copytree(used.state, aside / used.state.name)
    aside.chmod(0o700)
    turn = {"source": "mail", "role": "user", "user": "mira", "session": "m", "text": "A parcel"}
    (aside / used.state.name / "drop").mkdir(exist_ok=True)
    (aside / used.state.name / "drop" / "mail.jsonl").write_text(json.dumps(turn) + "\n")

    assert uninstall(used, "--yes", "--purge").code == 0

    assert "A parcel" in turns(used)
    assert not aside.exists()
