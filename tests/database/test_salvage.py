"""Rows of a damaged database that stand on undamaged pages are read."""

from pathlib import Path

import apsw
import pytest

from tests.database.damage import PATTERNS, checkpoint, damage_page, page_count
from vault_memory.database.connection import connect
from vault_memory.database.salvage import salvage, shapes_of
from vault_memory.database.self_repair import RepairingConnection
from vault_memory.vault.write.journal_schema import STEPS

TABLES = """
    CREATE TABLE number(id INTEGER PRIMARY KEY, text TEXT NOT NULL, ratio REAL NOT NULL);
    CREATE TABLE content(name TEXT PRIMARY KEY, size INTEGER NOT NULL, raw BLOB NOT NULL) WITHOUT ROWID;
    CREATE INDEX number_by_text ON number(text);
"""


def filled(
    path: Path, *, numbers: int = 400, contents: int = 25
) -> tuple[set[object], set[object]]:
    """A database with rows of all kinds of values, and what is in it."""
    connection = connect(path, durable=True)
    connection.execute(TABLES)
    rows = {(place - 50, f"row {place} ü" * (place % 7), place / 4) for place in range(numbers)}
    blobs = {(f"{place:08x}", place, bytes([place]) * (place * 311)) for place in range(contents)}
    connection.executemany("INSERT INTO number VALUES (?, ?, ?)", sorted(rows))
    connection.executemany("INSERT INTO content VALUES (?, ?, ?)", sorted(blobs))
    connection.close()
    checkpoint(path)
    return rows, blobs


def read_again(path: Path) -> tuple[set[object], set[object]]:
    target = apsw.Connection(":memory:")
    target.execute(TABLES)
    salvage(
        path, target, {"content": lambda row: row["raw"] == bytes([row["size"]]) * len(row["raw"])}
    )
    return set(target.execute("SELECT * FROM number")), set(target.execute("SELECT * FROM content"))


def test_an_undamaged_database_is_read_completely(tmp_path: Path) -> None:
    content = filled(tmp_path / "a.sqlite")

    assert read_again(tmp_path / "a.sqlite") == content


def test_rows_that_exist_only_in_the_wal_are_read(tmp_path: Path) -> None:
    content = filled(tmp_path / "a.sqlite")
    connection = connect(tmp_path / "a.sqlite", durable=True)
    connection.execute(
        "DELETE FROM number WHERE id < 0; INSERT INTO number VALUES (9999, 'late', 1.5)"
    )
    connection.execute("BEGIN; INSERT INTO number VALUES (10000, 'not committed', 1.5)")

    rows, blobs = read_again(tmp_path / "a.sqlite")

    assert rows == {row for row in content[0] if row[0] >= 0} | {(9999, "late", 1.5)}
    assert blobs == content[1]


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_damaged_page_costs_only_the_rows_on_it(tmp_path: Path, pattern: bytes) -> None:
    rows, blobs = filled(tmp_path / "a.sqlite")
    whole = (tmp_path / "a.sqlite").read_bytes()
    missing: list[object] = []
    for page in range(1, page_count(tmp_path / "a.sqlite") + 1):
        path = tmp_path / "b.sqlite"
        path.write_bytes(whole)
        damage_page(path, page, pattern)
        found, texts = read_again(path)
        assert found <= rows, "nothing is invented"
        assert texts <= blobs
        missing += rows - found

    assert sorted(missing) == sorted(rows), (
        "each short row stands on one page, and is lost with that page alone"
    )


def test_deleted_rows_do_not_come_back(tmp_path: Path) -> None:
    filled(tmp_path / "a.sqlite")
    connection = connect(tmp_path / "a.sqlite", durable=True)
    connection.pragma("secure_delete", True)
    connection.execute("DELETE FROM number; DELETE FROM content")
    connection.close()
    checkpoint(tmp_path / "a.sqlite")
    damage_page(tmp_path / "a.sqlite", 1)

    assert read_again(tmp_path / "a.sqlite") == (set(), set())


def test_each_table_of_the_journal_has_a_different_shape() -> None:
    connection = apsw.Connection(":memory:")
    for step in STEPS:
        connection.execute(step)
    stored = [
        (
            shape.has_rowid,
            tuple((column.types, column.may_be_null, column.is_rowid) for column in shape.columns),
        )
        for shape in shapes_of(connection)
    ]

    assert len(stored) == len(set(stored))


def prepare(connection: apsw.Connection) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS number(id INTEGER PRIMARY KEY, text TEXT NOT NULL)"
    )


def copy(damaged: Path, connection: apsw.Connection) -> None:
    salvage(damaged, connection, {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of several pages."""
    connection = RepairingConnection(tmp_path / "a.sqlite", prepare, copy)
    connection.executemany(
        "INSERT INTO number VALUES (?, ?)", [(place, "x" * 500) for place in range(100)]
    )
    connection.close()
    checkpoint(tmp_path / "a.sqlite")
    return tmp_path / "a.sqlite"


def test_a_transaction_that_meets_damage_is_complete_after_the_repair(path: Path) -> None:
    damage_page(path, 5)
    connection = RepairingConnection(path, prepare, copy)

    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO number VALUES (1000, 'before')")
    count = connection.execute(
        "SELECT count(*) FROM (SELECT text FROM number NOT INDEXED)"
    ).fetchone()[0]
    connection.execute("INSERT INTO number VALUES (1001, 'after')")
    connection.execute("COMMIT")

    assert 80 < count < 101
    ids = {row[0] for row in connection.execute("SELECT id FROM number WHERE id >= 1000")}
    assert ids == {1000, 1001}
    assert connection.pragma("quick_check") == "ok"
    assert path.with_name("a.sqlite.damaged-1").exists()


def test_two_connections_continue_in_the_same_new_file(path: Path) -> None:
    first, second = (RepairingConnection(path, prepare, copy) for _ in range(2))
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
    connection = RepairingConnection(path, prepare, copy)
    connection.execute("SELECT text FROM number WHERE id = 3")
    with path.open("r+b") as file:
        file.truncate(size)

    connection.execute("INSERT INTO number VALUES (1000, 'after')")
    rows = connection.execute("SELECT id, text FROM number").fetchall()

    assert (1000, "after") in rows
    assert connection.pragma("quick_check") == "ok"


def test_a_file_deleted_while_it_is_open_is_written_again(path: Path) -> None:
    connection = RepairingConnection(path, prepare, copy)
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)

    assert connection.execute("SELECT count(*) FROM number").fetchone() == (100,)
    assert path.exists()


def test_a_repair_interrupted_by_a_crash_is_completed(path: Path) -> None:
    path.rename(path.with_name("a.sqlite.repaired"))

    connection = RepairingConnection(path, prepare, copy)

    assert connection.execute("SELECT count(*) FROM number").fetchone() == (100,)
