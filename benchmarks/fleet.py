"""A host of a fleet, with PostgreSQL and SeaweedFS from wheels: taking a vault, acknowledged writes, claims.

The processor time is that of the host; the database and the store have their own.
"""

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

from benchmarks import vaults
from benchmarks.hosts import Served, served
from benchmarks.place import Place
from benchmarks.table import Row
from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.books import PostgresBook
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.ledger.test_cost import VAULTS, claim, cpu_milliseconds, fill_postgres
from tests.addons.fleet.running import OperatedFleet
from tests.remote.servers import s3_stores
from vault_memory.vault.marker import ensure_marker

NOTES = 50
PEOPLE = 5
WRITES = 100
WARM_WRITES = 10
MOST_AGAIN_MILLISECONDS = 20.0
MOST_CLAIM_MILLISECONDS = 2.0
OLD_SECONDS = 86_400


def rows(place: Place) -> Iterator[Row]:
    """Four rows: a vault that is new to a host, and taken again; a write; a claim."""
    reason = servers.missing() or s3_stores.missing("s3-seaweed")
    if reason:
        raise SystemExit(f"error: {reason}")
    with ExitStack() as stack:
        postgres = PostgresServer()
        stack.callback(postgres.stop)
        store = s3_stores.start("s3-seaweed")
        stack.callback(store.stop)
        folder = place.root / "fleet"
        folder.mkdir()
        fleet = OperatedFleet(folder, postgres, store)
        fleet.ask("fleet", "init")
        tokens = [_add(place, fleet, number) for number in range(PEOPLE)]
        config = str(fleet.config("north"))
        command = ["fleet", "host", "--config", config]
        with served(place, command, fleet.environment) as host:
            _first_answers(host, tokens[:1])
            cold = _first_answers(host, tokens[1:])
            yield _row(f"a vault of {NOTES} notes, new to a host", cold, None)
            writes = _writes(host, tokens[0])
            yield writes
        with served(place, command, fleet.environment) as host:
            _first_answers(host, tokens[:1])
            again = _first_answers(host, tokens[1:])
            yield _row("the same, taken again unchanged", again, MOST_AGAIN_MILLISECONDS)
        yield _claim_row(postgres)


def _add(place: Place, fleet: OperatedFleet, number: int) -> str:
    root = place.root / f"person-{number}"
    vaults.write(root, NOTES, seed=number, scopes=(0,))
    old = time.time() - OLD_SECONDS
    for note in root.rglob("*.md"):
        os.utime(note, (old, old))
    ensure_marker(root)
    home = fleet.store.new_url()
    options = ("--home", home, "--from", str(root), "--user", vaults.USERS[0])
    token: str = fleet.ask("fleet", "add", f"person-{number}", *options)["token"]
    return token


def _first_answers(host: Served, tokens: list[str]) -> float:
    """Returns the CPU milliseconds of a first search in each vault, in the median."""
    took = []
    for token in tokens:
        before = host.cpu()
        _ask(host, token, "/v1/search", query="what was said of the harbour?")
        took.append(1000 * (host.cpu() - before))
    return statistics.median(took)


def _writes(host: Served, token: str) -> Row:
    clock, cpu = [], []
    for number in range(WARM_WRITES + WRITES):
        before, started = host.cpu(), time.perf_counter()
        _ask(host, token, "/v1/remember", text=f"The boat {number} is at quay {number}")
        clock.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (host.cpu() - before))
    spent = statistics.median(cpu[WARM_WRITES:])
    took = statistics.median(clock[WARM_WRITES:])
    return Row(
        "an acknowledged `remember` over HTTP",
        "–",
        "–",
        f"{spent:.1f} CPU ms, {took:.0f} ms by the clock",
        "–",
        None,
    )


def _ask(host: Served, token: str, path: str, **body: Any) -> None:
    headers = {"authorization": f"Bearer {token}"}
    answer = host.client.post(path, json=body, headers=headers)
    if answer.status_code != 200:
        raise SystemExit(f"error: {path} was answered with {answer.text}")


def _row(figure: str, ours: float, most: float | None) -> Row:
    reach = "–" if most is None else f"≤ {most:.0f} CPU ms"
    reached = None if most is None else ours <= most
    return Row(figure, "–", "–", f"{ours:.1f} CPU ms to its first answer", reach, reached)


def _claim_row(postgres: PostgresServer) -> Row:
    book = PostgresBook(postgres)
    ledger: Any = book.open()
    with closing(ledger):
        fill_postgres(book)
        claim(ledger)
        [(backend,)] = ledger._rows("SELECT pg_backend_pid()")
        ours = cpu_milliseconds(lambda: claim(ledger), [backend])
    return Row(
        f"a claim among {VAULTS:,} vaults, with the database",
        "–",
        "–",
        f"{ours:.2f} CPU ms",
        f"≤ {MOST_CLAIM_MILLISECONDS:.0f} CPU ms",
        ours <= MOST_CLAIM_MILLISECONDS,
    )
