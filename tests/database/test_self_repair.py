"""A damaged database is set aside, and a new one starts from the daily copy."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from tests.database.damage import PATTERNS, checkpoint, damage_page, page_count
from vault_memory.database.connection import connect, quick_check
from vault_memory.database.self_repair import RepairingConnection, copies_of

ROWS = 100


def prepare(connection: apsw.Connection) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS number(id INTEGER PRIMARY KEY, text TEXT NOT NULL)"
    )


def restore(damaged: apsw.Connection, connection: apsw.Connection, copied_at: str) -> None:
    """Takes nothing over: what is there afterwards stood in the copy."""


def opened(path: Path) -> RepairingConnection:
    return RepairingConnection(path, prepare, restore)


def count(connection: RepairingConnection | apsw.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM number NOT INDEXED").fetchone()[0])


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of several pages, and its copy."""
    connection = opened(tmp_path / "a.sqlite")
    connection.executemany(
        "INSERT INTO number VALUES (?, ?)", [(place, "x" * 500) for place in range(ROWS)]
    )
    connection.keep_copy(now())
    connection.close()
    checkpoint(tmp_path / "a.sqlite")
    return tmp_path / "a.sqlite"


def test_a_transaction_that_meets_damage_is_complete_after_the_repair(path: Path) -> None:
    damage_page(path, 5)
    connection = opened(path)

    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO number VALUES (1000, 'before')")
    count = connection.execute(
        "SELECT count(*) FROM (SELECT text FROM number NOT INDEXED)"
    ).fetchone()[0]
    connection.execute("INSERT INTO number VALUES (1001, 'after')")
    connection.execute("COMMIT")

    assert count == ROWS + 1
    ids = {row[0] for row in connection.execute("SELECT id FROM number WHERE id >= 1000")}
    assert ids == {1000, 1001}
    assert connection.pragma("quick_check") == "ok"
    assert path.with_name("a.sqlite.damaged-1").exists()


def test_two_connections_continue_in_the_same_new_file(path: Path) -> None:
    first, second = (opened(path) for _ in range(2))
    assert second.execute("SELECT count(*) FROM number").fetchone() == (100,)
    damage_page(path, 5)

    first.execute("SELECT sum(length(text)) FROM number")
    second.execute("BEGIN IMMEDIATE")
    second.execute("INSERT INTO number VALUES (1000, 'from the second')")
    second.execute("COMMIT")

    assert first.execute("SELECT text FROM number WHERE id = 1000").fetchone() == (
        "from the second",
    )
    assert not path.with_name("a.sqlite.damaged-2").exists()


@pytest.mark.parametrize("size", [0, 100, 4096, 4096 * 3 + 17])
def test_a_file_truncated_while_it_is_open_is_repaired(path: Path, size: int) -> None:
    connection = opened(path)
    connection.execute("SELECT text FROM number WHERE id = 3")
    with path.open("r+b") as file:
        file.truncate(size)

    connection.execute("INSERT INTO number VALUES (1000, 'after')")
    rows = connection.execute("SELECT id, text FROM number").fetchall()

    assert (1000, "after") in rows
    assert connection.pragma("quick_check") == "ok"


def test_a_file_deleted_while_it_is_open_is_written_again(path: Path) -> None:
    connection = opened(path)
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)

    assert connection.execute("SELECT count(*) FROM number").fetchone() == (100,)
    assert path.exists()


def test_a_repair_interrupted_by_a_crash_is_completed(path: Path) -> None:
    path.rename(path.with_name("a.sqlite.repaired"))

    connection = opened(path)

    assert connection.execute("SELECT count(*) FROM number").fetchone() == (100,)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_damaged_page_costs_a_row_of_the_copy(path: Path, pattern: bytes) -> None:
    whole = path.read_bytes()
    repairs = 0
    for page in range(1, page_count(path) + 1):
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        path.write_bytes(whole)
        damage_page(path, page, pattern)
        connection = opened(path)
        assert count(connection) == ROWS, page
        connection.execute("INSERT INTO number VALUES (1000, 'after')")
        assert connection.pragma("quick_check") == "ok"
        connection.close()
        repairs += path.with_name(f"a.sqlite.damaged-{repairs + 1}").exists()

    assert repairs == page_count(path), "each damaged file is kept"


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_damage_of_the_log_costs_no_row_of_the_copy(path: Path, ending: str) -> None:
    """A process was killed with rows in the log; the disk then damages the log, or the file."""
    script = (
        "import os, sys; from pathlib import Path; from tests.database.test_self_repair import opened\n"
        "connection = opened(Path(sys.argv[1]))\n"
        "connection.executemany('INSERT INTO number VALUES (?, ?)',"
        " [(place, 'y' * 500) for place in range(2000, 2100)])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    log = Path(f"{path}-wal")
    raw = bytearray(log.read_bytes())
    assert len(raw) > 40_000
    if ending:
        raw[len(raw) // 2 : len(raw) // 2 + 4096] = bytes(4096)
        log.write_bytes(raw)
    else:
        damage_page(path, 1)

    connection = opened(path)
    ids = {number for (number,) in connection.execute("SELECT id FROM number")}
    connection.execute("INSERT INTO number VALUES (1000, 'after')")

    assert set(range(ROWS)) <= ids
    assert connection.pragma("quick_check") == "ok"


def test_a_copy_is_made_once_a_day_for_its_owner_alone(path: Path) -> None:
    copy, _ = copies_of(path)
    connection = opened(path)
    connection.execute("INSERT INTO number VALUES (1000, 'later')")
    made = copy.stat()

    connection.keep_copy(now() + timedelta(hours=23))
    assert copy.stat().st_ino == made.st_ino
    connection.keep_copy(now() + timedelta(hours=25))

    assert copy.stat().st_ino != made.st_ino
    assert copy.stat().st_mode & 0o777 == made.st_mode & 0o777 == 0o600
    assert count(connect(copy, read_only=True)) == ROWS + 1


def test_a_copy_of_a_clock_that_ran_ahead_is_made_again(path: Path) -> None:
    copy, _ = copies_of(path)
    ahead = time.time() + 10 * 86_400
    os.utime(copy, (ahead, ahead))

    opened(path).keep_copy(now())

    assert copy.stat().st_mtime < ahead - 86_400


def test_a_copy_that_meets_damage_repairs_the_file_from_the_earlier_copy(path: Path) -> None:
    connection = opened(path)
    damage_page(path, 5)
    connection.keep_copy(now() + timedelta(days=2))

    assert quick_check(path) == "ok"
    assert count(connection) == ROWS
    assert path.with_name("a.sqlite.damaged-1").exists()
    assert quick_check(copies_of(path)[0]) == "ok"


def test_a_damaged_copy_is_not_taken(path: Path) -> None:
    damage_page(copies_of(path)[0], 3)
    damage_page(path, 1)

    connection = opened(path)

    assert count(connection) == 0
    connection.execute("INSERT INTO number VALUES (1000, 'after')")
    assert connection.pragma("quick_check") == "ok"


@pytest.mark.sampled
def test_a_process_killed_while_it_copies_leaves_a_whole_copy(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    connection = opened(path)
    connection.executemany(
        "INSERT INTO number VALUES (?, ?)", [(place, "x" * 4000) for place in range(3000)]
    )
    connection.keep_copy(now())
    script = (
        "import sys; from datetime import timedelta; from pathlib import Path\n"
        "from tests.database.test_self_repair import now, opened\n"
        "connection = opened(Path(sys.argv[1]))\n"
        "print('copies', flush=True)\n"
        "while True: connection.keep_copy(now() + timedelta(days=2))\n"
    )
    copy, new = copies_of(path)
    halves = 0
    for number in range(200):
        if halves == 3:
            break
        command = [sys.executable, "-c", script, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "copies\n"
            time.sleep(0.013 * (number % 12))
            process.send_signal(signal.SIGKILL)
        halves += new.exists()
        assert quick_check(copy) == "ok", number
        assert count(connect(copy, read_only=True)) == 3000

    assert halves == 3, "too few processes were killed in the middle of a copy"
    connection.keep_copy(now() + timedelta(days=2))
    assert not new.exists()
    new.write_bytes(b"half a copy")
    connection.drop_copy()
    assert not copy.exists()
    assert not new.exists()
