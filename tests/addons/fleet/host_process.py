"""A host of a fleet as a process of its own, which visits vaults at random until it is killed.

It sends the recorder each operation that was acknowledged. The recorder may ask it to stop or to
end right before its next write to a home, which is the moment that a lease cannot protect.
"""

import ctypes
import logging
import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.addons.fleet.fleets import append, remember, turn
from tests.remote.servers.s3_stores import ACCOUNT
from vault_memory.addons.fleet import fleet_config
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.ledger.contract import Holder, Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.addons.fleet.visit import Visit
from vault_memory.addons.fleet.visit_settings import VisitSettings, server_of
from vault_memory.addons.s3.s3_bucket import Bucket
from vault_memory.addons.s3.s3_client import S3Place
from vault_memory.addons.s3.s3_remote import S3
from vault_memory.config.sections import RemoteSettings
from vault_memory.errors import VaultMemoryError
from vault_memory.remote.contract import Remote
from vault_memory.remote.http_transport import HttpAnswer

PR_SET_PDEATHSIG = 1
ENDPOINT = "TEST_S3_ENDPOINT"
"""The variable with the address of the store"""
REGION = "us-east-1"
PAUSE = 0.02
"""Seconds before a host asks again for a vault that another one holds"""
CONDITIONS = ("IfMatch", "IfNoneMatch")
KINDS = (append, remember, turn)


@dataclass(frozen=True)
class HostPlan:
    """What a host process is told."""

    name: str
    folder: Path
    """with a folder for each host"""
    database: str
    endpoint: str
    vaults: tuple[str, ...]
    seed: str
    lease_seconds: float
    fenced: bool
    """whether writes to the home name what they replace"""

    @property
    def scratch(self) -> Path:
        return self.folder / self.name

    @property
    def fault(self) -> Path:
        """A file with the signal that the host sends itself before its next write."""
        return self.folder / f"{self.name}.fault"


def open_ledger(database: str, **options: Any) -> Ledger:
    """Open the ledger that an address names."""
    if fleet_config.is_local(database):
        return LocalLedger(fleet_config.path_of(database), **options)
    from vault_memory.addons.fleet.ledger.postgres import PostgresLedger

    return PostgresLedger(database, **options)


class PlannedBucket(Bucket):
    """Stops or ends the process before a write; without the fence it drops each condition."""

    plan: HostPlan

    def ask(
        self, operation: str, path: str, *arguments: Any, writes: bool = False, **parameters: Any
    ) -> tuple[dict[str, Any], HttpAnswer]:
        if writes:
            self._send_signal()
            if not self.plan.fenced:
                for condition in CONDITIONS:
                    parameters.pop(condition, None)
        return super().ask(operation, path, *arguments, writes=writes, **parameters)

    def _send_signal(self) -> None:
        with suppress(FileNotFoundError):
            number = int(self.plan.fault.read_text())
            self.plan.fault.unlink()
            os.kill(os.getpid(), number)


class HostProcess:
    """Visits the vaults of a plan."""

    def __init__(self, plan: HostPlan, recorder: Connection) -> None:
        self.plan = plan
        self.recorder = recorder
        self.chance = random.Random(plan.seed)
        self.asked = 0
        self.ledger = open_ledger(plan.database, lease_seconds=plan.lease_seconds)
        self.settings = visit_settings(plan)

    def run(self) -> None:
        while True:
            vault = self.chance.choice(self.plan.vaults)
            lease = self.ledger.take(vault, self.plan.name, "")
            if isinstance(lease, Holder):
                time.sleep(PAUSE)
            else:
                self._visit(lease)

    def _visit(self, lease: Lease) -> None:
        visit: Visit | None = None
        try:
            visit = Visit.open(lease, self.ledger, self.settings)
            for _ in range(self.chance.randint(1, 3)):
                for _ in range(self.chance.randint(1, 3)):
                    self._acknowledge(visit)
                visit.flush()
                self.recorder.send(("flushed", ""))
            visit.leave()
        except LeaseLost:
            self.recorder.send(("lost", ""))
        except VaultMemoryError as error:
            self.recorder.send(("error", error.code))
        finally:
            if visit is not None:
                visit.close()

    def _acknowledge(self, visit: Visit) -> None:
        self.asked += 1
        op_id = f"{self.plan.seed}.{self.asked}"
        kind = self.chance.choice(KINDS)
        op = _op(kind.__name__, op_id)
        visit.run(op)
        self.recorder.send(("acknowledged", (visit.lease.vault, op)))


def _op(kind: str, op_id: str) -> AcknowledgedOp:
    words = f"word-{op_id}- of the bot"
    now = datetime.now(UTC)
    match kind:
        case "append":
            return append(op_id, f"- {words}", now)
        case "remember":
            return remember(op_id, words, now)
        case _:
            return turn(op_id, words, now)


def visit_settings(plan: HostPlan) -> VisitSettings:
    """The settings of a host that visits homes in a store of the tests."""

    def open_remote(settings: RemoteSettings, password: str) -> Remote:
        remote = S3(settings.url, ACCOUNT, S3Place(plan.endpoint, REGION))
        bucket = PlannedBucket(remote.at.bucket, remote._client)
        bucket.plan = plan
        remote._bucket = bucket
        return remote

    settings = VisitSettings(
        scratch=plan.scratch,
        remote=RemoteSettings(endpoint=plan.endpoint),
        environment={"VAULT_MEMORY_CACHE": str(plan.folder / "cache")},
        open_remote=open_remote,
    )
    if not plan.fenced:
        # The probe refuses a store that ignores conditions.
        home = "s3://homes/any"
        account = S3(home, ACCOUNT, S3Place(plan.endpoint, REGION))
        settings.capabilities[server_of(home)] = account.traits
    return settings


def main(plan: HostPlan, recorder: Connection) -> None:
    """Run until a signal ends the process."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    logging.disable(logging.CRITICAL)
    HostProcess(plan, recorder).run()
