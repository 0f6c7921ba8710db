"""What one op costs: as a new process, as a call with its syncs to the disk, on a note of 10,000 items, on a page of
10,000 facts; and what 1,000 lines cost that are imported at once.
"""

import os
import sqlite3
import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from benchmarks.cost import cpu_seconds, process_cpu
from benchmarks.place import OFF, Place, program
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory

ROUNDS = 15
CALLS = 40
ITEMS = 10_000
SUBJECTS, EACH = 1_000, 10
"""People on a page of facts, and how many facts about each"""
IMPORTED = 1_000
SYNCS = 4
"""Commits and syncs to the disk that one op makes, for the floor"""


def rows(place: Place) -> Iterator[Row]:
    """Five rows; the disk's own time for as many syncs is the floor of the second."""
    vault = place.vault("1000-notes", 1_000)
    note = "Users/alma/memories/ops.md"
    (vault / note).write_text("## Tea\n\n- green\n")
    with place.open(vault) as memory:
        memory.index(embed=False)
    yield _process(place, vault, note)
    with place.open(vault) as memory:
        walls = [_call(memory, note, number) for number in range(CALLS)]
    ours, floor = 1000 * statistics.median(walls[5:]), 1000 * synced(vault, SYNCS)
    yield Row(
        "one op by a call of Python, synced to the disk",
        "–",
        f"{floor:.1f} ms ({SYNCS} writes with fsync)",
        f"{ours:.1f} ms",
        "≤ 15 ms on an idle disk",
        ours <= 15,
    )
    yield _large(place, vault)
    yield _fact(place, vault)
    yield _import(place, vault)


def _process(place: Place, vault: Path, note: str) -> Row:
    command = [program(), "append", note, "Tea", "--vault", str(vault)]
    costs = [
        process_cpu([*command, f"white {number}"], place.environment(OFF))
        for number in range(ROUNDS)
    ]
    ours = 1000 * statistics.median(costs[1:])
    return Row(
        "one op by the command, 1,000 notes",
        "–",
        "–",
        f"{ours:.0f} CPU ms",
        "≤ 200 CPU ms",
        ours <= 200,
    )


def _large(place: Place, vault: Path) -> Row:
    note = "Users/alma/memories/large.md"
    item = "- an item of about a hundred bytes, which is what a megabyte of ten thousand of them comes to, {}\n"
    (vault / note).write_text(
        "## Tea\n\n" + "".join(item.format(number) for number in range(ITEMS))
    )
    with place.open(vault) as memory:
        memory.index(embed=False)
        costs = [cpu_seconds(partial(_call, memory, note, number)) for number in range(7)]
    ours = 1000 * statistics.median(costs[1:])
    size = f"{(vault / note).stat().st_size / 2**20:.1f} MiB"
    return Row(
        f"one op on a note of {ITEMS:,} items, {size}",
        "–",
        "–",
        f"{ours:.0f} CPU ms",
        "≤ 300 CPU ms",
        ours <= 300,
    )


def _fact(place: Place, vault: Path) -> Row:
    page = vault / "Users/bruno/bot/config/FACTS.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    sections = (
        f"## person {who}\n\n"
        + "".join(f"- likes_{at}: thing {who} {at} (since 2024-01-11)\n" for at in range(EACH))
        for who in range(SUBJECTS)
    )
    page.write_text("\n".join(sections))
    with place.open(vault) as memory:
        memory.index(embed=False)
        costs = [cpu_seconds(partial(_state, memory, number)) for number in range(25)]
    ours, count = 1000 * statistics.median(costs[2:]), SUBJECTS * EACH
    first = f"{1000 * costs[0]:.0f} CPU ms (the first call)"
    return Row(
        f"one fact stated on a page of {count:,}, again and again",
        "–",
        first,
        f"{ours:.0f} CPU ms",
        "≤ 50 CPU ms",
        ours <= 50,
    )


def _state(memory: VaultMemory, number: int) -> None:
    who = f"person {number * 377 % SUBJECTS}"
    later = datetime.now(UTC) + timedelta(hours=1)
    change = memory.add_fact(
        who, "knows", f"somebody {number}", scope="user:bruno", source="cli", now=later
    )
    if change.outcome != "added":
        raise SystemExit(f"error: the fact was not added: {change}")


def _import(place: Place, vault: Path) -> Row:
    source = place.root / "istota.db"
    with sqlite3.connect(source) as database:
        database.execute(
            "CREATE TABLE memory_chunks(id INTEGER PRIMARY KEY, user_id, source_type, source_id, content)"
        )
        database.executemany(
            "INSERT INTO memory_chunks(user_id, source_type, source_id, content) VALUES ('alma', 'note', 'x', ?)",
            [
                (f"Berth {number} has a ring of iron, and the lamp beside it was seen to.",)
                for number in range(IMPORTED)
            ],
        )
    with place.open(vault) as memory:
        memory.index(embed=False)
        seconds = cpu_seconds(partial(_take_in, memory, source))
    return Row(
        f"{IMPORTED:,} lines imported into one note",
        "–",
        "–",
        f"{seconds:.2f} CPU s",
        "≤ 1.5 CPU s",
        seconds <= 1.5,
    )


def _take_in(memory: VaultMemory, source: Path) -> None:
    if (came := memory.transfer.import_from(source).items) != IMPORTED:
        raise SystemExit(f"error: {came} lines came in")


def _call(memory: VaultMemory, note: str, number: int) -> float:
    began = time.perf_counter()
    later = datetime.now(UTC) + timedelta(hours=1)  # a note that was saved just now is waited for
    edit = memory.apply(
        note,
        [{"op": "append", "heading": "Tea", "line": f"black {number}"}],
        source="cli",
        now=later,
    )
    took = time.perf_counter() - began
    if not edit.changed:
        raise SystemExit(f"error: the op was not carried out: {edit}")
    return took


def synced(folder: Path, writes: int) -> float:
    """What so many small writes cost when each is synced."""
    path = folder / ".synced"
    rounds = []
    for _ in range(9):
        began = time.perf_counter()
        for _ in range(writes):
            with path.open("ab") as file:
                file.write(b"x" * 4096)
                file.flush()
                os.fsync(file.fileno())
        rounds.append(time.perf_counter() - began)
    path.unlink()
    return statistics.median(rounds)
