"""Imports and makes what each host needs, once, in the process that all host processes are forked from."""

import os
import tempfile
from pathlib import Path

from tests.addons.fleet.fleets import Fleet, append, remember, turn
from tests.addons.fleet.host_process import ENDPOINT, REGION
from tests.remote.servers.s3_stores import ACCOUNT
from vault_memory.addons.s3.s3_client import _make_client


def _warm() -> None:
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        with fleet.visiting("one") as visit:
            visit.run(append("a", "- coffee", fleet.now))
            visit.run(remember("b", "the cat is called Miso", fleet.now))
            visit.run(turn("c", "I like coffee", fleet.now))
        with fleet.visiting("one"):
            pass
        fleet.ledger.close()
    # boto3 needs 100 ms of processor time to make a client.
    if endpoint := os.environ.get(ENDPOINT):
        _make_client(endpoint, REGION, ACCOUNT.password)


_warm()
