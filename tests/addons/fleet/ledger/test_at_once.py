"""Several hosts at once: one holder of a vault at a time, each operation folded once."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.addons.fleet.ledger.books import Book, LocalBook, PostgresBook
from tests.addons.fleet.ledger.random_host import THREADS
from tests.effort import FULL
from vault_memory.addons.fleet.ledger.contract import KeptOp, Lease
from vault_memory.addons.fleet.ledger.local import LocalLedger

PROCESSES = 3
SECONDS = 10.0 if FULL else 1.5
VAULTS = 5


def place(book: Book) -> tuple[str, str]:
    if isinstance(book, LocalBook):
        return "local", str(book.path)
    assert isinstance(book, PostgresBook)
    return "postgres", book.url


def start(
    book: Book, project: Path, seed: str, seconds: float = SECONDS
) -> "subprocess.Popen[bytes]":
    program = [sys.executable, "-m", "tests.addons.fleet.ledger.random_host"]
    arguments = [*place(book), seed, str(seconds)]
    return subprocess.Popen([*program, *arguments], cwd=project, stdout=subprocess.PIPE)


def diaries(processes: "list[subprocess.Popen[bytes]]") -> list[dict[str, Any]]:
    parts = []
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        parts += json.loads(output)
    return parts


def check(book: Book, parts: list[dict[str, Any]]) -> None:
    """No two leases of a vault overlap, no epoch is given twice, no operation is lost."""
    spans: dict[str, dict[int, tuple[float, float]]] = {}
    owners: dict[tuple[str, int], int] = {}
    for owner, part in enumerate(parts):
        for span in part["spans"]:
            vault, epoch = span["vault"], span["epoch"]
            assert owners.setdefault((vault, epoch), owner) == owner
            begin, end = spans.setdefault(vault, {}).get(epoch, (span["begin"], span["end"]))
            spans[vault][epoch] = (min(begin, span["begin"]), max(end, span["end"]))
    for epochs in spans.values():
        for earlier, later in pairwise(sorted(epochs)):
            overlap = epochs[earlier][1] - epochs[later][0]
            assert overlap <= 0
    assert sum(map(len, spans.values())) > 5 * VAULTS

    kept = [tuple(row) for part in parts for row in part["kept"]]
    folded = [tuple(row) for part in parts for row in part["folded"]]
    with_one_left = Counter(folded)
    ledger = book.open(lease_seconds=30)
    for vault in {vault for vault, _ in kept}:
        lease = ledger.take(vault, "last", "")
        while not isinstance(lease, Lease):
            time.sleep(0.05)
            lease = ledger.take(vault, "last", "")
        operations: list[KeptOp] = ledger.kept(lease)
        with_one_left.update((vault, op.decode()) for _, op, _ in operations)
    ledger.close()
    assert with_one_left == Counter(kept), "each operation is folded once or waits"
    assert folded


@pytest.mark.sampled
def test_never_two_holders_of_one_vault_and_each_operation_once(
    book: Book, project: Path, seeds_from: int
) -> None:
    ledger = book.open()
    for number in range(VAULTS):
        ledger.add(str(uuid.uuid4()), f"v{number}", f"s3://homes/v{number}")
    ledger.close()

    processes = [start(book, project, f"{seeds_from}.{n}") for n in range(PROCESSES)]
    parts = diaries(processes)

    assert len(parts) == PROCESSES * THREADS
    check(book, parts)
    assert any(part["lost"] for part in parts), "some host was paused beyond its lease"


@pytest.mark.sampled
def test_a_paused_process_wakes_without_its_leases(
    book: Book, project: Path, seeds_from: int
) -> None:
    ledger = book.open()
    for number in range(VAULTS):
        ledger.add(str(uuid.uuid4()), f"v{number}", f"s3://homes/v{number}")
    ledger.close()

    processes = [start(book, project, f"{seeds_from}.{n}") for n in range(PROCESSES)]
    try:
        time.sleep(SECONDS / 2)
        os.kill(processes[0].pid, signal.SIGSTOP)
        time.sleep(SECONDS / 3)
    finally:
        os.kill(processes[0].pid, signal.SIGCONT)

    check(book, diaries(processes))


@pytest.mark.sampled
def test_two_processes_share_one_new_file(tmp_path: Path, project: Path) -> None:
    """Both find no file, and both make one."""
    path = tmp_path / "new" / "ledger.sqlite"
    program = (
        "import sys; from pathlib import Path; from vault_memory.addons.fleet.ledger.local import LocalLedger;"
        "print(LocalLedger(Path(sys.argv[1]), create=True).fleet)"
    )
    command = [sys.executable, "-c", program, str(path)]
    processes = [subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE) for _ in range(4)]
    fleets = {process.communicate(timeout=120)[0] for process in processes}

    assert len(fleets) == 1
    assert fleets.pop().strip()


def test_an_operation_in_sqlite_survives_kill_9(tmp_path: Path, project: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    vault = str(uuid.uuid4())
    with closing(LocalLedger(path, create=True)) as ledger:
        ledger.add(vault, "ann", "s3://homes/ann")
    program = (
        "import itertools, sys\n"
        "from pathlib import Path\n"
        "from vault_memory.addons.fleet.ledger.local import LocalLedger\n"
        "ledger = LocalLedger(Path(sys.argv[1]))\n"
        "for number in itertools.count():\n"
        "    ledger.keep(sys.argv[2], b'%d' % number, str(number))\n"
        "    print(number, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path), vault], cwd=project, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(20)]
    process.kill()
    lines += process.communicate(timeout=120)[0].splitlines()

    with closing(LocalLedger(path)) as ledger:
        lease = ledger.take(vault, "north", "")
        assert isinstance(lease, Lease)
        kept = [op for _, op, _ in ledger.kept(lease)]

    assert len(lines) >= 20
    assert kept[: len(lines)] == [line.strip() for line in lines]
