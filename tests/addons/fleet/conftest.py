"""A real PostgreSQL, SQLite and a real S3 for the tests of fleets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.running import OperatedFleet
from tests.in_memory import tmp_path as tmp_path
from tests.remote.servers import s3_stores
from tests.remote.servers.s3_stores import S3Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for all tests of a worker, which loses commits only in a power cut."""
    if reason := servers.missing():
        pytest.skip(reason)
    server = PostgresServer(fsync=False)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def store() -> Iterator[S3Store]:
    name = "s3-seaweed"
    if s3_stores.missing(name):
        name = "s3-moto"
    started = s3_stores.start(name)
    yield started
    started.stop()


@pytest.fixture(params=["sqlite"])
def operated(request: pytest.FixtureRequest, tmp_path: Path, store: S3Store) -> OperatedFleet:
    """A fleet whose ledger is not made yet: in SQLite, unless a test names PostgreSQL."""
    server = None
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
    return OperatedFleet(tmp_path, server, store)


@pytest.fixture
def fleet_of_hosts(operated: OperatedFleet) -> OperatedFleet:
    """A fleet with a ledger."""
    assert operated.ask("fleet", "init")["fleet"]
    return operated
