"""Opening a database and taking it from one format to the next."""

import threading

import apsw
import pytest

from vault_memory.database.connection import connect, load_vector_functions
from vault_memory.database.migrations import migrate, version_of
from vault_memory.errors import VaultMemoryError


def test_each_migration_step_runs_once(tmp_path):
    done = []
    steps = [lambda connection: done.append(1), lambda connection: done.append(2)]
    connection = connect(tmp_path / "a.sqlite")

    assert migrate(connection, steps[:1]) == 1
    assert migrate(connection, steps) == 1
    assert migrate(connection, steps) == 0
    assert done == [1, 2]
    assert version_of(connection) == 2


def test_a_failing_migration_step_leaves_the_file_unchanged(tmp_path):
    connection = connect(tmp_path / "a.sqlite")

    def fail(connection):
        connection.execute("CREATE TABLE half(x)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        migrate(connection, [fail])

    assert version_of(connection) == 0
    assert list(connection.execute("SELECT name FROM sqlite_schema")) == []


def test_two_concurrent_migrations_run_each_step_once(tmp_path):
    done = []

    def step(connection):
        connection.execute("CREATE TABLE once(x)")
        done.append(1)

    def run():
        migrate(connect(tmp_path / "a.sqlite"), [step])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done == [1]


def test_a_file_that_is_not_a_database_is_an_error(tmp_path):
    (tmp_path / "a.sqlite").write_bytes(b"no database" * 1000)

    with pytest.raises(VaultMemoryError) as error:
        connect(tmp_path / "a.sqlite")

    assert "a.sqlite" in error.value.message
    assert error.value.hint


def test_extension_loading_is_disabled_again_after_the_vector_functions_load():
    connection = connect(":memory:")
    load_vector_functions(connection)

    assert connection.execute("SELECT vec_length('[1, 2, 3]')").fetchone() == (3,)
    with pytest.raises(apsw.Error):
        connection.load_extension("vec0")


def test_concurrent_openers_of_a_new_file_all_succeed(tmp_path):
    for number in range(20):
        start = threading.Barrier(6)
        failed = []

        def run(path=tmp_path / f"{number}.sqlite", start=start, failed=failed):
            start.wait()
            try:
                migrate(connect(path), [lambda connection: connection.execute("CREATE TABLE a(x)")])
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
