"""The file of a ledger in SQLite: private, durable, and never a file of another program."""

import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from tests.addons.fleet.ledger.power_cut import forgetful_disk
from vault_memory.addons.fleet.ledger.contract import Holder, Lease
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerAway, LedgerMissing, LedgerRefused
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.database import connection
from vault_memory.database.connection import DatabaseDamaged

ANN = str(uuid.UUID(int=0xA11))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[LocalLedger]:
    with closing(LocalLedger(path, create=True)) as ledger:
        ledger.add(ANN, "ann", "s3://homes/ann")
        yield ledger


def _waiting(path: Path) -> list[bytes]:
    """What the next holder of the vault gets."""
    with closing(LocalLedger(path)) as ledger:
        lease = ledger.take(ANN, "south", "")
        assert isinstance(lease, Lease)
        return [row.op for row in ledger.kept(lease)]


# --- Opening ---


@pytest.mark.smoke
def test_only_fleet_init_makes_a_ledger(path: Path) -> None:
    with pytest.raises(LedgerMissing) as error:
        LocalLedger(path)

    assert "fleet init" in error.value.hint
    assert not path.exists()
    path.touch()
    with pytest.raises(LedgerMissing):
        LocalLedger(path)


def test_a_database_of_another_program_is_left_as_it_was(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE places(url)")
        other.execute("PRAGMA user_version = 1")
        other.commit()
    before = path.read_bytes()

    for create in (False, True):
        with pytest.raises(LedgerRefused, match="another kind"):
            LocalLedger(path, create=create)

    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_as_it_was(path: Path) -> None:
    path.write_text("- the spare key is below the third pot\n" * 100)
    before = path.read_bytes()

    for create in (False, True):
        with pytest.raises(DatabaseDamaged, match="not a database") as error:
            LocalLedger(path, create=create)
        assert "fleet.database" in error.value.hint

    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["folder", "pipe", "below a file", "long name"])
def test_a_place_that_is_no_file_is_refused(path: Path, kind: str) -> None:
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "below a file":
            path.touch()
            path /= "ledger.sqlite"
        case _:
            path = path.with_name("x" * 300)

    with pytest.raises(LedgerRefused):
        LocalLedger(path, create=True)


def test_a_ledger_whose_making_was_cut_short_is_made_again(path: Path) -> None:
    program = (
        "import os, sqlite3, sys\n"
        "ledger = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "ledger.execute('PRAGMA cache_size = 1')\n"
        "ledger.execute('BEGIN')\n"
        "ledger.execute('CREATE TABLE vault(id)')\n"
        "for _ in range(100): ledger.execute('INSERT INTO vault VALUES(zeroblob(4096))')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)])
    assert path.with_name("ledger.sqlite-journal").exists()

    with closing(LocalLedger(path, create=True)) as ledger:
        assert ledger.vaults() == []


# --- Rights ---


@contextmanager
def _open_to_all() -> Iterator[None]:
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def _rights(path: Path) -> set[int]:
    return {file.stat().st_mode & 0o777 for file in path.parent.glob(f"{path.name}*")}


def test_only_the_user_may_read_the_file_and_its_log(path: Path) -> None:
    with _open_to_all(), closing(LocalLedger(path, create=True)) as ledger:
        ledger.add(ANN, "ann", "s3://homes/ann")
        assert path.with_name("ledger.sqlite-wal").exists()
        assert _rights(path) == {0o600}


def test_a_restored_file_that_all_may_read_is_closed_to_them(path: Path) -> None:
    LocalLedger(path, create=True).close()
    path.chmod(0o644)

    with closing(LocalLedger(path)) as ledger:
        ledger.add(ANN, "ann", "s3://homes/ann")
        assert _rights(path) == {0o600}


# --- Durability ---


def test_a_power_cut_loses_no_kept_operation(tmp_path: Path, path: Path) -> None:
    with forgetful_disk() as disk, closing(LocalLedger(path, create=True)) as ledger:
        ledger.add(ANN, "ann", "s3://homes/ann")
        for number in range(3):
            ledger.keep(ANN, b"op %d" % number, str(number))
            # These need no sync of their own, and must not undo the one before.
            ledger.claim("north", "", 0)
            folder = tmp_path / f"cut-{number}"
            folder.mkdir()
            disk.after_power_cut(folder)
        ledger._database.change("UPDATE kept SET op = x'00'", {}, durable=False)
        last = tmp_path / "last"
        last.mkdir()
        disk.after_power_cut(last)

    for number in range(3):
        expected = [b"op %d" % earlier for earlier in range(number + 1)]
        assert _waiting(tmp_path / f"cut-{number}" / path.name) == expected
    # The disk forgets what is not synced, or this test would prove nothing.
    assert _waiting(last / path.name) == expected


# --- Trouble while hosts run ---


def test_nothing_is_acknowledged_in_a_file_that_was_replaced(
    tmp_path: Path, path: Path, ledger: LocalLedger
) -> None:
    backup = tmp_path / "backup.sqlite"
    with closing(apsw.Connection(str(path))) as source:
        source.execute(f"VACUUM INTO '{backup}'")
    ledger.keep(ANN, b"before", "1")
    backup.rename(path)

    with pytest.raises(LedgerAway, match="replaced"):
        ledger.keep(ANN, b"after", "2")


def test_a_full_disk_acknowledges_nothing_and_loses_nothing(
    path: Path, ledger: LocalLedger
) -> None:
    ledger.keep(ANN, b"before", "1")
    log = path.with_name("ledger.sqlite-wal").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log, hard))
    try:
        with pytest.raises(LedgerAway, match="full") as error:
            ledger.keep(ANN, b"during", "2")
        assert ledger.vault("ann").waiting == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert error.value.exit_code == 1
    ledger.keep(ANN, b"after", "3")
    assert _waiting(path) == [b"before", b"after"]


def test_a_process_that_stays_in_a_write_does_not_block_the_others_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BUSY_MILLISECONDS", 50)
    with closing(LocalLedger(path, create=True)) as ledger:
        ledger.add(ANN, "ann", "s3://homes/ann")
        with closing(apsw.Connection(str(path))) as paused:
            paused.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerAway, match="another process"):
                ledger.keep(ANN, b"op", "1")
            assert ledger.vault("ann").name == "ann"
        ledger.keep(ANN, b"op", "1")
    assert _waiting(path) == [b"op"]


def test_a_request_for_a_vault_of_another_host_waits_for_no_write(
    path: Path, ledger: LocalLedger
) -> None:
    ledger.take(ANN, "north", "http://127.0.0.1:8377")
    ledger.claim("south", "", 0)
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        holder = ledger.take(ANN, "south", "")
        assert time.monotonic() - began < connection.BUSY_MILLISECONDS / 1000

    assert isinstance(holder, Holder)
    assert holder.host == "north"


def test_reads_go_on_while_a_thread_waits_to_write(path: Path, ledger: LocalLedger) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        writer = threading.Thread(target=ledger.keep, args=(ANN, b"op", "1"))
        writer.start()
        # The thread has come to its statement, and waits for the other process.
        time.sleep(0.3)
        began = time.monotonic()
        assert ledger.vault("ann").waiting == 0
        assert time.monotonic() - began < connection.BUSY_MILLISECONDS / 2000
        assert writer.is_alive()
        other.execute("COMMIT")
        writer.join()
    assert ledger.vault("ann").waiting == 1
