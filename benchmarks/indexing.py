"""The text index of a vault: from nothing, and looked through once more with nothing changed."""

import hashlib
import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import apsw

from benchmarks.cost import cpu_seconds, median_cpu
from benchmarks.place import Place
from benchmarks.table import Row

SIZES = {1_000: 5, 10_000: 3}
"""Notes → rounds from nothing"""
PEERS = {1_000: ("–", "0.33 CPU s"), 10_000: ("692 notes per CPU s", "1.9 CPU s")}
FEWEST_PER_SECOND = 2_000
MOST_RESCAN_SECONDS = 0.15
RESCANS = 9


def rows(place: Place) -> Iterator[Row]:
    """Four rows: two sizes, from nothing and with nothing changed."""
    for notes, rounds in SIZES.items():
        yield _cold(place, notes, rounds)
    for notes in SIZES:
        yield _rescan(place, notes)


def _cold(place: Place, notes: int, rounds: int) -> Row:
    vault = place.vault(f"{notes}-notes", notes)
    with place.open(vault) as memory:
        memory.index(embed=False)  # once, so that modules are loaded and the files lie in the cache
        floors, ours = [], []
        for _ in range(rounds):
            floors.append(notes / cpu_seconds(lambda: floor(vault, place.root / "floor.sqlite")))
            ours.append(notes / cpu_seconds(lambda: memory.index(rebuild=True, embed=False)))
        chunks = memory.vault.indexing.index().counts()[1]
    speed = statistics.median(ours)
    return Row(
        f"cold text index, {notes:,} notes ({chunks:,} chunks)",
        PEERS[notes][0],
        f"{statistics.median(floors):,.0f}",
        f"{speed:,.0f} notes per CPU s",
        f"≥ {FEWEST_PER_SECOND:,}",
        speed >= FEWEST_PER_SECOND,
    )


def _rescan(place: Place, notes: int) -> Row:
    vault = place.vault(f"{notes}-notes", notes)
    with place.open(vault) as memory:
        memory.index(embed=False)
        seconds = median_cpu(lambda: memory.vault.indexing.refresh(), RESCANS)
    bare = median_cpu(lambda: walk_and_stat(vault), RESCANS)
    return Row(
        f"rescan with nothing changed, {notes:,} notes",
        PEERS[notes][1],
        f"{bare:.3f} CPU s",
        f"{seconds:.3f} CPU s",
        f"≤ {MOST_RESCAN_SECONDS} CPU s",
        seconds <= MOST_RESCAN_SECONDS,
    )


def floor(vault: Path, database: Path) -> None:
    """Read, hash, scan the lines, insert into FTS5 as one text a note: what cannot be saved."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    connection = apsw.Connection(str(database))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "normal")
    connection.execute("CREATE VIRTUAL TABLE note USING fts5(body); BEGIN")
    for folder, _, names in os.walk(vault):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                raw = file.read()
            hashlib.sha256(raw).hexdigest()
            text = raw.decode()
            sum(line.startswith("#") for line in text.split("\n"))
            connection.execute("INSERT INTO note VALUES (?)", (text,))
    connection.execute("COMMIT")
    connection.close()


def walk_and_stat(vault: Path) -> int:
    """The bare walk: every name, and what the system says of it."""
    seen = 0
    folders = [str(vault)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    seen += 1
    return seen
