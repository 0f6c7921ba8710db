"""The program on a Python that lacks what macOS lacks: files, the daemon, its socket, services."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platforms.stand_ins import PLATFORMS, environment, python
from tests.scenarios.outside import Outside, at, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a stand-in of macOS")

HIDE_PROC = 'mount -t tmpfs none /proc && exec "$@"'
"""Run by `unshare`: macOS has no /proc"""


def as_macos(outside: Outside) -> Outside:
    outside.settings["PYTHONPATH"] = environment("macos", {})["PYTHONPATH"]
    return outside


def new_process() -> list[str]:
    """What stands before a program that starts from nothing, without /proc where that can be had."""
    hidden = ["unshare", "--mount", "sh", "-c", HIDE_PROC, "sh"]
    can_hide = sys.platform == "linux" and shutil.which("unshare") is not None
    if can_hide and subprocess.run([*hidden, "true"], capture_output=True).returncode == 0:
        return hidden
    return ["env"]


@pytest.fixture
def mac(tmp_path: Path) -> Outside:
    return as_macos(at(tmp_path))


def run(mac: Outside, *words: str) -> str:
    done = mac.bare("--vault", str(mac.vault), *words, before=new_process())
    assert done.code == 0, done.err
    return done.out


@pytest.mark.sampled
def test_a_note_is_found_edited_and_put_back(mac: Outside):
    note = mac.write("a.md", "# Boats\n\n## Oars\n\n- red\n")
    before = note.read_bytes()

    assert "red" in run(mac, "search", "red oars")
    run(mac, "append", "a.md", "Oars", "blue")
    assert note.read_bytes() == before + b"- blue\n"
    edit = json.loads(run(mac, "log", "a.md", "--json"))["records"][0]
    run(mac, "undo", edit["id"])

    assert note.read_bytes() == before


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="the call of macOS is made from that of Linux, with a C compiler",
)
def test_a_note_is_replaced_by_the_swap_of_macos(mac: Outside, tmp_path: Path):
    library, noted = tmp_path / "renames.so", tmp_path / "renames"
    source = PLATFORMS / "renameatx_np.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    mac.settings |= {"LD_PRELOAD": str(library), "RENAMES_NOTED": str(noted)}
    note = mac.write("a.md", "# Boats\n\n## Oars\n\n- red\n")

    run(mac, "append", "a.md", "Oars", "blue")

    assert note.read_text() == "# Boats\n\n## Oars\n\n- red\n- blue\n"
    assert "2" in noted.read_text().split()
    assert not [path for path in mac.vault.iterdir() if path.name.startswith(".vm")]


@pytest.mark.sampled
def test_a_save_is_found_by_polling_and_the_daemon_ends_when_asked(mac: Outside):
    mac.write("a.md", "- red oars\n")

    with mac.daemon(before=new_process(), ready=False) as daemon:
        line = daemon.wait_ready()
        mac.write("b.md", "- a blue anchor\n")
        daemon.until_found("blue anchor")
        code, _ = daemon.stop(signal.SIGTERM)

    assert "(polling: events are used on Linux only)" in line
    assert code == 0


@pytest.mark.sampled
def test_a_daemon_is_asked_although_its_path_is_too_long_for_a_socket(mac: Outside):
    mac.home = mac.home / ("long name " * 9)
    mac.home.mkdir()
    mac.write("a.md", "- red oars\n")
    before = set(os.listdir("/tmp"))

    with mac.daemon(before=new_process()):
        assert len(os.fsencode(mac.socket)) > 107
        status = run(mac, "status", "--json")
        assert '"running": true' in status

    left = {name for name in set(os.listdir("/tmp")) - before if name.startswith("vm-")}
    # Other tests make such folders at the same moment, and remove them soon.
    until(lambda: not left & set(os.listdir("/tmp")), says=left)


def test_the_doctor_does_not_promise_events(mac: Outside):
    mac.write("a.md", "- red oars\n")

    assert "events are used on Linux only" in run(mac, "doctor")


@pytest.mark.sampled
def test_state_and_services_are_where_macos_has_them(mac: Outside):
    mac.write("a.md", "- red oars\n")
    unset = ("VAULT_MEMORY_STATE", "VAULT_MEMORY_CACHE", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    mac.settings |= dict.fromkeys(unset, "")

    run(mac, "search", "oars")
    unit = run(mac, "service", "install", "--user", "--dry-run")

    library = mac.home / "Library"
    assert (library / "Application Support/vault-memory").is_dir()
    assert f"{library}/LaunchAgents/vault-memory.plist" in unit
    assert f"<string>{library}/Caches/vault-memory</string>" in unit


def test_a_program_as_brain_is_seen_to_end():
    code = (
        "import subprocess\n"
        "from vault_memory.models.llm import command\n"
        "process = subprocess.Popen(['true'])\n"
        "assert command._has_ended(process)\n"
        "slow = subprocess.Popen(['sleep', '30'], start_new_session=True)\n"
        "assert not command._has_ended(slow)\n"
        "slow.kill(); slow.wait()\n"
    )

    done = python("macos", code)

    assert done.returncode == 0, done.stderr
