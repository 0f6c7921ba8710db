"""What it costs to record a turn: as a call, synced to the disk, as a new process, and reading a day of them again."""

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from benchmarks.cost import cpu_seconds, median_process_cpu
from benchmarks.place import OFF, Place, program
from benchmarks.table import Row
from benchmarks.writing import synced
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.rules.conversations import turn

CALLS = 400
DAY = 2_000
ROUNDS = 9
TEXT = "The lamp was trimmed at nine, and number {} of the spare wicks is in the blue tin beside the stairs."


def rows(place: Place) -> Iterator[Row]:
    """Four rows; the floor of the first is one write with a sync."""
    vault = place.vault("1000-notes", 1_000)
    with place.open(vault) as memory:
        memory.index(embed=False)
    with place.open(vault) as memory:
        walls = sorted(_record(memory, "alma", number) for number in range(CALLS))
        floor = 1000 * synced(vault, 1)
        at95 = 1000 * walls[int(0.95 * CALLS)]
        yield Row(
            "one turn by a call of Python, synced, 95 % of them",
            "–",
            f"{floor:.1f} ms (1 write with fsync)",
            f"{at95:.1f} ms (median {1000 * statistics.median(walls):.1f})",
            "≤ 5 ms on an idle disk",
            at95 <= 5,
        )
        for number in range(DAY):
            _record(memory, "bruno", number)
        ours = 1000 * statistics.median(
            cpu_seconds(partial(_record, memory, "bruno", n)) for n in range(40)
        )
        yield Row(
            f"one turn after {DAY:,} others of the day",
            "–",
            "–",
            f"{ours:.1f} CPU ms",
            "≤ 5 CPU ms",
            ours <= 5,
        )
        seconds = statistics.median(
            cpu_seconds(partial(_read_day, memory, "bruno")) for _ in range(5)
        )
        yield Row(
            f"a day of {DAY:,} turns read again",
            "–",
            "–",
            f"{seconds:.2f} CPU s",
            "≤ 1 CPU s",
            seconds <= 1,
        )
    command = [
        program(),
        "record",
        "--vault",
        str(vault),
        "--session",
        "s",
        "--role",
        "user",
        "--user",
        "alma",
        "hello",
    ]
    nothing = 1000 * median_process_cpu([program(), "--version"], place.environment(OFF), ROUNDS)
    ours = 1000 * median_process_cpu(command, place.environment(OFF), ROUNDS)
    yield Row(
        "one turn by the command, 1,000 notes",
        "–",
        f"{nothing:.0f} CPU ms (`--version`)",
        f"{ours:.0f} CPU ms",
        "≤ 120 CPU ms",
        ours <= 120,
    )


def _read_day(memory: VaultMemory, user: str) -> None:
    # The turns of the last transcripts are cached: decode all of them.
    turn._recent = ()
    memory.conversations.transcripts.since(f"user:{user}")


def _record(memory: VaultMemory, user: str, number: int) -> float:
    at = datetime(2026, 4, 6, 8, tzinfo=UTC) + timedelta(seconds=number)
    began = time.perf_counter()
    memory.record_turn(session=user, role="user", user=user, text=TEXT.format(number), now=at)
    return time.perf_counter() - began
