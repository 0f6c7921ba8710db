"""A vault of a million notes: its index, a later start, saves, searches, idling and memory.

It takes about an hour, so only `python -m benchmarks million` measures it.
"""

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import daemons, vaults
from benchmarks.cost import cpu_seconds, resident_bytes, running_cpu
from benchmarks.daemons import Running, running
from benchmarks.place import OFF, Place
from benchmarks.saving import save_all
from benchmarks.table import Row

NOTES, FOLDERS = 1_000_000, 1_000
TREES = (*vaults.FOLDERS[:8], *vaults.FOLDERS[10:])
"""Ten scopes; a channel has no folders below"""
SAVES, SEARCHES, IDLE_SECONDS, PATIENCE_SECONDS = 40, 40, 600, 1_800.0
SCOPES = {"in one scope": ["group:main"], "over all scopes": list(vaults.SCOPES)}
MOST_INDEX_SECONDS, MOST_START_SECONDS, MOST_P95_MS = 480, 60, 80
MOST_SEARCH_MS = {"in one scope": 25, "over all scopes": 60}
MOST_PERCENT, MOST_MEGABYTES = 0.5, 900


def rows(place: Place) -> Iterator[Row]:
    """Seven rows of one vault."""
    vault = place.root / "million"
    write(vault)
    with place.open(vault) as memory:
        spent = cpu_seconds(lambda: memory.index(embed=False))
    yield _row("text index from nothing", spent, "CPU s", MOST_INDEX_SECONDS)
    # Its first start keeps the versions of all notes.
    daemons.PATIENCE_SECONDS = PATIENCE_SECONDS
    with running(place, vault, OFF) as daemon:
        daemon.wait_until_calm()
    with running(place, vault, OFF) as daemon:
        yield _row("later start of a daemon", daemon.wait_until_calm(), "CPU s", MOST_START_SECONDS)
        yield from _beside(vault, daemon)


def _beside(vault: Path, daemon: Running) -> Iterator[Row]:
    took = [1000 * (seconds or PATIENCE_SECONDS) for seconds in save_all(vault, daemon, SAVES)]
    yield _row("save → found, p95", sorted(took)[int(0.95 * SAVES)], "ms", MOST_P95_MS)
    daemon.wait_until_calm()
    questions = _questions(vault)
    for where, scopes in SCOPES.items():
        spent = 1000 * statistics.median(_searches(daemon, questions, scopes))
        yield _row(f"a search {where}", spent, "CPU ms", MOST_SEARCH_MS[where])
    daemon.wait_until_calm()
    before = running_cpu(daemon.pid)
    time.sleep(IDLE_SECONDS)
    percent = 100 * (running_cpu(daemon.pid) - before) / IDLE_SECONDS
    yield _row("idle daemon", percent, "% of a processor", MOST_PERCENT)
    yield _row("its memory", resident_bytes(daemon.pid) / 1e6, "MB", MOST_MEGABYTES)


def _row(what: str, value: float, unit: str, most: float) -> Row:
    title = f"{NOTES:,} notes, {what}"
    return Row(title, "–", "–", f"{value:,.1f} {unit}", f"≤ {most} {unit}", value <= most)


def write(root: Path) -> None:
    """Write notes of four lines, no two alike, into the folders in turn."""
    words = vaults.Words(9)
    folders = [root / TREES[number % 10] / f"{number // 10:03}" for number in range(FOLDERS)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for number in range(NOTES):
        lines = "".join(f"- {words.text(40, 100)}\n" for _ in range(4))
        note = folders[number % FOLDERS] / f"note-{number:07}.md"
        note.write_text(f"# Note {number}\n\n{lines}")


def _questions(vault: Path) -> list[str]:
    notes = sorted((vault / "memory").rglob("*.md"))
    drawn = random.Random(5).sample(notes, 60)
    lines = [line for note in drawn for line in note.read_text().splitlines() if len(line) > 60]
    return vaults.questions(lines, SEARCHES)


def _searches(daemon: Running, questions: Sequence[str], scopes: Sequence[str]) -> Iterator[float]:
    """Yield CPU seconds of the daemon for each question."""
    for question in questions:
        before = running_cpu(daemon.pid)
        daemon.ask("search", {"query": question, "scopes": scopes, "mode": "keyword", "limit": 8})
        # The kernel counts a thread when it rests.
        time.sleep(0.05)
        yield running_cpu(daemon.pid) - before
