"""A host that starts before its PostgreSQL waits for it, and then serves."""

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host
from tests.in_memory import tmp_path as tmp_path
from tests.remote.servers.s3_stores import S3Store
from tests.scenarios.outside import until


@pytest.mark.sampled
def test_a_host_that_starts_before_postgresql_waits_and_serves(
    tmp_path: Path, store: S3Store
) -> None:
    if reason := servers.missing():
        pytest.skip(reason)
    own = PostgresServer(fsync=False)
    hosts: list[RunningHost] = []
    log = tmp_path / "east.log"
    with ExitStack() as stack:
        stack.callback(own.stop)
        fleet = OperatedFleet(tmp_path, own, store)
        assert fleet.ask("fleet", "init")["fleet"]
        added = fleet.ask("fleet", "add", "ann", "--home", store.new_url(), "--user", "ann")
        own.kill()

        def serve() -> None:
            hosts.append(stack.enter_context(running_host(fleet, "east")))

        thread = threading.Thread(target=serve)
        thread.start()
        until(lambda: log.exists() and "waits for it" in log.read_text(), seconds=60)
        assert hosts == []
        own.start()
        thread.join(60)

        [east] = hosts
        answer = east.ask(added["token"], "/v1/search", query="lamp")
        assert answer.status_code == 200, answer.text


@pytest.mark.sampled
def test_a_command_that_is_no_host_says_at_once_that_the_ledger_is_away(
    tmp_path: Path, store: S3Store
) -> None:
    if reason := servers.missing():
        pytest.skip(reason)
    own = PostgresServer(fsync=False)
    with ExitStack() as stack:
        stack.callback(own.stop)
        fleet = OperatedFleet(tmp_path, own, store)
        assert fleet.ask("fleet", "init")["fleet"]
        own.kill()

        done = fleet.command("fleet", "status")

    assert done.returncode == 1
    assert "does not answer" in done.stderr
