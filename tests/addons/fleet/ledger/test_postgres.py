"""What only the ledger in PostgreSQL has to survive: cut connections, restarts, wrong passwords."""

import itertools
import logging
import signal
import threading
import time
import traceback
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.books import PostgresBook
from tests.addons.fleet.ledger.servers import PASSWORD, PostgresServer
from vault_memory.addons.fleet.ledger.contract import Lease, LedgerCaller
from vault_memory.addons.fleet.ledger.ledger_errors import (
    LedgerAway,
    LedgerMissing,
    LedgerRefused,
    UnknownVault,
)
from vault_memory.errors import ConfigError, UsageError, VaultMemoryError
from vault_memory.rules.paths.scopes import Caller

if not servers.missing():
    import psycopg

    from vault_memory.addons.fleet.ledger.postgres import PostgresLedger

pytestmark = pytest.mark.skipif(bool(servers.missing()), reason=servers.missing())

NORTH = ("north", "http://10.0.0.1:7777")


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may kill, which syncs each commit to the disk."""
    server = PostgresServer()
    yield server
    server.stop()


def add(ledger: Any, name: str = "ann") -> str:
    vault = str(uuid.uuid4())
    ledger.add(vault, name, f"s3://homes/{name}")
    return vault


def take(ledger: Any, vault: str) -> Lease:
    lease = ledger.take(vault, *NORTH)
    assert isinstance(lease, Lease)
    return lease


def keep_until_away(ledger: Any, vault: str) -> list[bytes]:
    """Keep operations until the ledger is away; return those that it acknowledged."""
    acknowledged = []
    for number in itertools.count():
        op = b"op %d" % number
        try:
            ledger.keep(vault, op, str(number))
        except LedgerAway:
            break
        acknowledged.append(op)
    return acknowledged


def wait_until_sleeping(url: str) -> None:
    """Wait until a statement sleeps in the database."""
    query = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    with psycopg.connect(url, autocommit=True) as connection:
        while not connection.execute(query).fetchall():
            time.sleep(0.01)


def cut_connections(book: PostgresBook) -> None:
    """End all other connections to the database, as a fail-over does."""
    book.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid != pg_backend_pid()"
    )


# --- Nothing that was acknowledged is lost ---


@pytest.mark.sampled
def test_an_acknowledged_operation_survives_kill_9_of_the_server(
    own_server: PostgresServer,
) -> None:
    url = own_server.database()
    with closing(PostgresLedger(url, create=True)) as ledger:
        vault = add(ledger)
        threading.Timer(0.3, own_server.kill).start()
        acknowledged = keep_until_away(ledger, vault)
        with pytest.raises(LedgerAway) as error:
            ledger.vault(vault)
        assert (error.value.exit_code, error.value.http_status) == (1, 503)

        own_server.start()

        kept = [op for _, op, _ in ledger.kept(take(ledger, vault))]

    assert acknowledged
    assert kept[: len(acknowledged)] == acknowledged
    assert len(kept) <= len(acknowledged) + 1, "the last one may be kept unanswered"


def test_the_server_syncs_each_commit_even_if_its_default_is_not_to(
    postgres_book: PostgresBook,
) -> None:
    with closing(postgres_book.open()):
        postgres_book.execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off',"
            " current_database()); END $$"
        )
    ledger: Any = postgres_book.open()

    with closing(ledger):
        assert ledger._database.read("SHOW synchronous_commit", {}) == [("on",)]
        assert ledger._database.read("SHOW timezone", {}) == [("UTC",)]


def test_operations_of_many_threads_commit_in_the_order_of_their_numbers(
    postgres_book: PostgresBook,
) -> None:
    """A holder that folds up to a number has seen each lower one."""
    with closing(postgres_book.open()) as ledger:
        vault = add(ledger)
        lease = take(ledger, vault)
        folded: list[bytes] = []
        done = threading.Event()

        def fold() -> None:
            while True:
                is_last = done.is_set()
                if operations := ledger.kept(lease):
                    folded.extend(op for _, op, _ in operations)
                    ledger.folded(lease, operations[-1].seq)
                if is_last:
                    return

        with ThreadPoolExecutor(5) as pool:
            folding = pool.submit(fold)
            names = [b"%d" % number for number in range(200)]
            list(pool.map(lambda name: ledger.keep(vault, name, name.decode()), names))
            done.set()
            folding.result(120)

    assert sorted(folded) == sorted(names)


# --- A cut connection ---


def test_a_connection_that_was_cut_between_calls_is_replaced(postgres_book: PostgresBook) -> None:
    with closing(postgres_book.open()) as ledger:
        vault = add(ledger)
        cut_connections(postgres_book)

        assert ledger.vault(vault).name == "ann"


def test_a_connection_cut_in_the_middle_of_a_call_is_an_error_and_the_next_call_works(
    postgres_book: PostgresBook,
) -> None:
    ledger: Any = postgres_book.open()
    with closing(ledger), ThreadPoolExecutor(1) as pool:
        vault = add(ledger)
        call = pool.submit(ledger._database.read, "SELECT pg_sleep(30)", {})
        wait_until_sleeping(postgres_book.url)
        cut_connections(postgres_book)

        with pytest.raises(LedgerAway) as error:
            call.result(120)

        assert error.value.code == "ledger_away"
        assert error.value.hint
        assert take(ledger, vault).epoch == 1


@pytest.mark.sampled
def test_a_server_that_is_away_is_a_temporary_error(own_server: PostgresServer) -> None:
    url = own_server.database()
    ledger = PostgresLedger(url, create=True)
    with closing(ledger):
        own_server.kill()
        for call in (ledger.vaults, ledger.hosts, lambda: PostgresLedger(url)):
            with pytest.raises(LedgerAway) as error:
                call()
            assert error.value.exit_code == 1


def test_more_threads_than_connections_wait_for_each_other(postgres_book: PostgresBook) -> None:
    with closing(postgres_book.open()) as ledger, ThreadPoolExecutor(20) as pool:
        vaults = list(pool.map(lambda number: add(ledger, f"v{number}"), range(60)))
        names = list(pool.map(lambda vault: ledger.vault(vault).name, vaults))

    connections = postgres_book.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name = 'vault-memory' AND datname = current_database()"
    )
    assert names == [f"v{number}" for number in range(60)]
    assert connections[0][0] <= 8


@pytest.mark.sampled
def test_a_server_without_a_free_connection_is_named(own_server: PostgresServer) -> None:
    with own_server.admin() as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    url = f"postgresql://guest:guest@127.0.0.1:{own_server.port}/postgres"

    with ExitStack() as opened:
        with suppress(psycopg.OperationalError):
            while True:
                opened.enter_context(psycopg.connect(url))
        with pytest.raises(LedgerAway, match="too many connections"):
            PostgresLedger(url, create=True)


def test_a_claim_passes_by_a_vault_that_another_host_is_writing(
    postgres_book: PostgresBook,
) -> None:
    with closing(postgres_book.open()) as ledger:
        vault, free = add(ledger, "ann"), add(ledger, "bo")
        with psycopg.connect(postgres_book.url) as writer:
            writer.execute("SELECT 1 FROM vault_memory.vault WHERE id = %s FOR UPDATE", (vault,))

            [lease] = ledger.claim(*NORTH, 5)

        assert lease.vault == free


# --- Settings ---


def test_a_database_without_a_ledger_is_named(postgres_book: PostgresBook) -> None:
    with pytest.raises(LedgerMissing, match="no ledger yet") as error:
        PostgresLedger(postgres_book.url)

    assert "fleet init" in error.value.hint


def test_two_hosts_that_make_the_ledger_at_once_make_one_fleet(postgres_book: PostgresBook) -> None:
    def fleet(_: int) -> str:
        with closing(postgres_book.open()) as ledger:
            return ledger.fleet

    with ThreadPoolExecutor(6) as pool:
        fleets = set(pool.map(fleet, range(6)))

    assert len(fleets) == 1


def test_a_user_without_rights_is_told_so(postgres_book: PostgresBook) -> None:
    with closing(postgres_book.open()):
        pass
    postgres_book.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    url = postgres_book.url.replace(postgres_book.url.split("@")[0], "postgresql://guest:guest")

    with pytest.raises(LedgerRefused, match="may not use"):
        PostgresLedger(url)


def wrong_settings(server: PostgresServer) -> dict[str, str]:
    return {
        "password": server.url(password=f"wrong-{PASSWORD}"),
        "no password": f"postgresql://keeper@127.0.0.1:{server.port}/postgres",
        "user": server.url().replace("keeper", "stranger"),
        "database": server.url("nowhere"),
        "unquoted": f"postgresql://keeper:{PASSWORD}@127.0.0.1:{server.port}/postgres",
        "unreadable": f"host=127.0.0.1 {PASSWORD} =",
        "port": server.url().replace(str(server.port), "1"),
        "empty": " = ",
    }


@pytest.mark.parametrize(
    "wrong",
    ["password", "no password", "user", "database", "unquoted", "unreadable", "port", "empty"],
)
def test_wrong_settings_are_an_error_that_does_not_show_the_password(
    postgres: PostgresServer,
    wrong: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    caplog.set_level(logging.DEBUG)

    with pytest.raises(VaultMemoryError) as error:
        PostgresLedger(wrong_settings(postgres)[wrong], create=True)

    expected = {"port": LedgerAway, "unquoted": VaultMemoryError}
    assert isinstance(error.value, expected.get(wrong, ConfigError))
    written = "".join(traceback.format_exception(error.value)) + caplog.text
    written += f"{error.value.as_json()} {error.value!r}"
    for part in (PASSWORD, "lantern", "petrel"):
        assert part not in written


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("connect_timeout=abc", "setting"),
        ("port=abc", "setting"),
        ("port=99999", "setting"),
        ("sslmode=foo", "setting"),
        ("service=nosuch", "setting"),
        ("tcp_user_timeout=abc", "setting"),
        ("options=-c%20nosuch%3D1", "setting"),
        ("options=-c%20work_mem%3Dabc", "setting"),
        ("sslmode=require", "encryption"),
        ("channel_binding=require", "encryption"),
    ],
)
def test_a_wrong_setting_is_no_outage(postgres: PostgresServer, setting: str, reason: str) -> None:
    with pytest.raises(LedgerRefused, match=reason):
        PostgresLedger(f"{postgres.url()}?{setting}", create=True)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
@pytest.mark.parametrize("variable", ["", "SQL_ASCII", "LATIN1"])
def test_texts_are_texts_in_a_database_of_another_encoding(
    postgres: PostgresServer, encoding: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", variable)
    url = postgres.database(encoding)

    with closing(PostgresLedger(url, create=True)) as ledger:
        vault = add(ledger, "Ærø")
        ledger.set_token(vault, b"digest", Caller("ann"))

        assert ledger.caller(b"digest") == LedgerCaller(vault, Caller("ann"))
        assert take(ledger, vault).name == "Ærø"


def test_a_ledger_does_not_show_its_password(postgres_book: PostgresBook) -> None:
    ledger: Any = postgres_book.open()
    with closing(ledger):
        assert "lantern" not in f"{ledger!r} {ledger._database!r}"


def test_the_socket_of_the_same_machine_works(postgres: PostgresServer) -> None:
    database = postgres.database().rpartition("/")[2]

    with closing(PostgresLedger(postgres.settings(database), create=True)) as ledger:
        assert ledger.vaults() == []


def test_texts_that_postgresql_cannot_store_are_refused_or_cleaned(
    postgres_book: PostgresBook,
) -> None:
    with closing(postgres_book.open()) as ledger:
        vault = add(ledger)
        with pytest.raises(UsageError):
            ledger.add(str(uuid.uuid4()), "a\0b", "s3://homes/b")
        with pytest.raises((UsageError, UnknownVault)):
            ledger.vault("a\0b")

        ledger.give_back(take(ledger, vault), datetime.now(UTC), "bad name: 'a\0b'")

        assert ledger.vault(vault).trouble == "bad name: 'ab'"


@pytest.mark.sampled
def test_a_server_that_shuts_down_is_named(own_server: PostgresServer) -> None:
    ledger: Any = PostgresLedger(own_server.database(), create=True)
    with closing(ledger), ThreadPoolExecutor(1) as pool:
        call = pool.submit(ledger._database.read, "SELECT pg_sleep(30)", {})
        wait_until_sleeping(own_server.url())
        own_server.send(signal.SIGINT)

        with pytest.raises(LedgerAway, match=r"shutting down|cut"):
            call.result(120)
