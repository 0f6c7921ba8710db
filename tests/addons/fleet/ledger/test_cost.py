"""What a claim costs among 100,000 vaults."""

import time
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.addons.fleet.ledger.books import LocalBook, PostgresBook
from vault_memory.addons.fleet.ledger import ledger_statements
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.local_file import SQLITE

VAULTS = 100_000
HELD = 10_000
ROUNDS = 100
MOST = 10
LIMIT_MILLISECONDS = 5.0
"""A look at all rows costs 65"""
NORTH = ("north", "http://10.0.0.1:7777")


def fill_postgres(book: PostgresBook) -> None:
    """Fill the table: a tenth is held, a tenth is due later, the others are due."""
    book.execute(
        "INSERT INTO vault_memory.vault(id, name, home, holder, until, due)"
        " SELECT gen_random_uuid()::text, 'v' || n, 's3://homes/' || n,"
        f" CASE WHEN n <= {HELD} THEN 'south' END,"
        f" CASE WHEN n <= {HELD} THEN extract(epoch FROM now()) + 3600 ELSE 0 END,"
        " extract(epoch FROM now()) + CASE WHEN n % 10 = 5 THEN 3600 ELSE -n * 0.001 END"
        f" FROM generate_series(1, {VAULTS}) AS n"
    )


def fill_local(book: LocalBook) -> None:
    connection = apsw.Connection(str(book.path))
    with connection:
        connection.executemany(
            "INSERT INTO vault(id, name, home, holder, until, due) VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    str(uuid.uuid4()),
                    f"v{number}",
                    f"s3://homes/{number}",
                    "south" if number < HELD else None,
                    time.time() + 3600 if number < HELD else 0,
                    time.time() + (3600 if number % 10 == 5 else -number * 0.001),
                )
                for number in range(VAULTS)
            ),
        )
    connection.close()


def cpu_milliseconds(call: Callable[[], object], backends: list[int]) -> float:
    """The processor time of a call, here and in the server, on average."""

    def spent() -> float:
        total = time.process_time() * 1000
        for pid in backends:
            running = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
            total += int(running) / 1e6
        return total

    call()
    before = spent()
    for _ in range(ROUNDS):
        call()
    return (spent() - before) / ROUNDS


def claim(ledger: Ledger) -> None:
    assert len(ledger.claim(*NORTH, MOST)) == MOST


def claim_nothing(ledger: Ledger) -> None:
    assert ledger.claim(*NORTH, MOST) == []


def plan_of_claim(ledger: Any) -> str:
    """The plan of the prepared statement, as this connection has it."""
    with ledger._database.connection() as connection:
        [(name,)] = connection.execute(
            "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%SKIP LOCKED%'"
        ).fetchall()
        rows = connection.execute(f"EXPLAIN EXECUTE {name}('n', 'a', 30.0)")
        return "\n".join(line for (line,) in rows)


@pytest.mark.sampled
@pytest.mark.parametrize("analysed", [False, True])
def test_a_claim_in_postgresql_reads_a_few_rows_of_the_index(
    postgres_book: PostgresBook, analysed: bool
) -> None:
    ledger: Any = postgres_book.open()
    with closing(ledger):
        fill_postgres(postgres_book)
        if analysed:
            postgres_book.execute("ANALYZE vault_memory.vault")
        claim(ledger)
        [(backend,)] = ledger._database.read("SELECT pg_backend_pid()", {})

        cost = cpu_milliseconds(lambda: claim(ledger), [backend])
        plan = plan_of_claim(ledger)
        postgres_book.execute(
            "UPDATE vault_memory.vault SET due = extract(epoch FROM now()) + 3600"
        )
        idle_cost = cpu_milliseconds(lambda: claim_nothing(ledger), [backend])

    print(f"{MOST} of {VAULTS}: {cost:.2f} CPU ms; none: {idle_cost:.2f}\n{plan}")
    assert "Index Scan using vault_claimable" in plan
    assert "Seq Scan on vault" not in plan
    assert cost <= LIMIT_MILLISECONDS
    assert idle_cost <= LIMIT_MILLISECONDS


@pytest.mark.sampled
def test_a_claim_in_sqlite_reads_a_few_rows_of_the_index(tmp_path: Path) -> None:
    book = LocalBook(tmp_path)
    ledger = book.open()
    with closing(ledger):
        fill_local(book)

        cost = cpu_milliseconds(lambda: claim(ledger), [])
        values = {"host": "north", "address": "", "seconds": 30}
        sql = SQLITE.say(ledger_statements.CLAIM).replace("$MOST", str(MOST))
        connection = apsw.Connection(str(book.path))
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        connection.execute("UPDATE vault SET due = unixepoch() + 3600")
        connection.close()
        idle_cost = cpu_milliseconds(lambda: claim_nothing(ledger), [])

    print(f"{MOST} of {VAULTS}: {cost:.2f} CPU ms; none: {idle_cost:.2f}\n{plan}")
    assert any("INDEX vault_claimable" in line for line in plan)
    assert not any("SCAN vault" in line or "ORDER BY" in line for line in plan)
    assert cost <= LIMIT_MILLISECONDS
    assert idle_cost <= LIMIT_MILLISECONDS
