"""State files are whole after a crash, and a lock admits one process at a time."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vault_memory.config import state_file

HOLD = """
import sys, time
from pathlib import Path
from vault_memory.config import state_file
with state_file.lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(file: Path) -> subprocess.Popen[str]:
    """A process that holds the lock until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_text_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "x.json"

    for text in ('{"a": "é\\r\\n"}', "[]"):
        state_file.write(file, text, durable=True)

    assert file.read_text() == "[]"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["x.json"]


def test_a_file_is_given_the_requested_mtime(tmp_path: Path) -> None:
    state_file.write(tmp_path / "x", "", modified=1_700_000_000)

    assert (tmp_path / "x").stat().st_mtime == 1_700_000_000


def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(tmp_path: Path) -> None:
    file = tmp_path / "x"
    state_file.write(file, "old")

    with pytest.raises(UnicodeEncodeError):
        state_file.write(file, "new \ud800")

    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("raw", [None, b"", b"{", b"\xff"])
def test_a_missing_or_damaged_file_reads_as_none(tmp_path: Path, raw: bytes | None) -> None:
    if raw is not None:
        (tmp_path / "x").write_bytes(raw)

    assert state_file.read_json(tmp_path / "x") is None


def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with holder(file) as process:
        with pytest.raises(state_file.LockTaken), state_file.lock(file, patience=0):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()

    with state_file.lock(file, patience=0):
        pass


def test_a_lock_also_excludes_threads_of_one_process(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    order: list[str] = []

    def second() -> None:
        with state_file.lock(file):
            order.append("second")

    thread = threading.Thread(target=second)
    with state_file.lock(file):
        thread.start()
        order.append("first")
    thread.join()

    assert order == ["first", "second"]


def test_a_process_waiting_for_a_replaced_lock_file_locks_the_new_one(tmp_path: Path) -> None:
    """Else it holds a file that no other process can see, and both write at once."""
    file = tmp_path / "lock"
    is_locked = threading.Event()

    def waiting() -> None:
        with state_file.lock(file, patience=30):
            is_locked.set()
            with pytest.raises(state_file.LockTaken), state_file.lock(file, patience=0):
                pass
            order.append("still ours")

    order: list[str] = []
    thread = threading.Thread(target=waiting)
    with state_file.lock(file):
        thread.start()
        file.unlink()
    thread.join()

    assert is_locked.is_set()
    assert order == ["still ours"]
