"""A host that leases, keeps, folds, pauses and gives back at random, as a process of its own.

``python -m tests.addons.fleet.ledger.random_host KIND DATABASE SEED SECONDS`` prints what it did as JSON. Its moments
are of the monotonic clock, which all processes of a machine share.
"""

import json
import random
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.addons.fleet.ledger.local import LocalLedger

LEASE_SECONDS = 0.08
THREADS = 2


@dataclass
class Span:
    """The time in which a holder may trust a lease."""

    vault: str
    epoch: int
    begin: float
    end: float


@dataclass
class Diary:
    """What one host did."""

    spans: list[Span] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    """vault and op id of each acknowledged operation"""
    folded: list[tuple[str, str]] = field(default_factory=list)
    """vault and op id of each operation that this host folded"""
    lost: int = 0


def open_ledger(kind: str, database: str) -> Ledger:
    if kind == "local":
        return LocalLedger(Path(database), lease_seconds=LEASE_SECONDS)
    from vault_memory.addons.fleet.ledger.postgres import PostgresLedger

    return PostgresLedger(database, lease_seconds=LEASE_SECONDS)


class RandomHost:
    """One thread of a host."""

    def __init__(self, ledger: Ledger, seed: str, vaults: list[str]) -> None:
        self.ledger = ledger
        self.chance = random.Random(seed)
        self.vaults = vaults
        self.host = (f"host{seed}", f"http://127.0.0.1/{seed}")
        self.diary = Diary()
        self.count = 0

    def run(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.keep()
            for lease, span in self.leases():
                with suppress(LeaseLost):
                    self.visit(lease, span)

    def keep(self) -> None:
        for _ in range(self.chance.randrange(3)):
            self.count += 1
            vault, op_id = (self.chance.choice(self.vaults), f"{self.host[0]}-{self.count}")
            self.ledger.keep(vault, op_id.encode(), op_id)
            self.diary.kept.append((vault, op_id))

    def leases(self) -> list[tuple[Lease, Span]]:
        before = time.monotonic()
        if self.chance.random() < 0.5:
            leases = self.ledger.claim(*self.host, self.chance.randint(1, 3))
        else:
            answer = self.ledger.take(self.chance.choice(self.vaults), *self.host)
            leases = [answer] if isinstance(answer, Lease) else []
        begin, end = time.monotonic(), before + LEASE_SECONDS
        return [(lease, Span(lease.vault, lease.epoch, begin, end)) for lease in leases]

    def visit(self, lease: Lease, span: Span) -> None:
        self.diary.spans.append(span)
        for _ in range(self.chance.randrange(3)):
            # Now and then longer than the lease, as a paused host.
            time.sleep(self.chance.choice([0, 0.01, 0.03, LEASE_SECONDS * 1.5]))
            before = time.monotonic()
            if self.ledger.renew([lease]):
                begin, end = time.monotonic(), before + LEASE_SECONDS
                self.diary.spans.append(Span(lease.vault, lease.epoch, begin, end))
            else:
                self.diary.lost += 1
        if self.chance.random() < 0.7:
            self.fold(lease)
        if self.chance.random() < 0.7:
            ended = time.monotonic()
            due = datetime.now(UTC) + timedelta(seconds=self.chance.random() * 0.05)
            self.ledger.give_back(lease, due)
            for given in self.diary.spans:
                if (given.vault, given.epoch) == (lease.vault, lease.epoch):
                    given.end = min(given.end, ended)

    def fold(self, lease: Lease) -> None:
        operations = self.ledger.kept(lease)
        if not operations:
            return
        seqs = [seq for seq, _, _ in operations]
        until = self.chance.choice(seqs)
        self.ledger.folded(lease, until)
        self.diary.folded += [
            (lease.vault, op.decode()) for seq, op, _ in operations if seq <= until
        ]


def main(kind: str, database: str, seed: str, seconds: str) -> None:
    ledger = open_ledger(kind, database)
    vaults = [vault.id for vault in ledger.vaults()]
    hosts = [RandomHost(ledger, f"{seed}-{n}", vaults) for n in range(THREADS)]
    threads = [threading.Thread(target=host.run, args=(float(seconds),)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()
    print(json.dumps([asdict(host.diary) for host in hosts]))


if __name__ == "__main__":
    main(*sys.argv[1:])
