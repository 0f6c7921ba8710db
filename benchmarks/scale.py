"""A daemon on large vaults: its start on one flat folder beside many folders, and what a save and idling cost.

The notes are short, so that the number of files is what counts. Each vault is indexed, and a first daemon keeps the
versions of its notes, before anything is measured.
"""

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import vaults
from benchmarks.cost import cpu_seconds, median_process_cpu, running_cpu
from benchmarks.daemons import Running, running
from benchmarks.place import OFF, Place, program
from benchmarks.saving import save_all
from benchmarks.table import Row

SIZES = (10_000, 50_000)
MOST_TIMES = 2.0
"""As much CPU time as the start on the same notes in 100 folders"""
LARGEST = 100_000
FOLDERS = 100
SAVES = 40
IDLE_SECONDS = 120
SEARCHES = 9
MOST_SAVE_MS, MOST_P50_MS, MOST_PERCENT, MOST_SEARCH_SECONDS = 10.0, 15.0, 0.3, 0.2


def rows(place: Place) -> Iterator[Row]:
    """Two rows of starts, and five of the largest vault."""
    for notes in SIZES:
        yield _starts(place, notes)
    yield from _largest(place)


def _starts(place: Place, notes: int) -> Row:
    spread = _start(place, _vault(place, f"spread-{notes}", notes, FOLDERS))
    flat = _start(place, _vault(place, f"flat-{notes}", notes, 1))
    return Row(
        f"daemon start, {notes:,} notes in one folder",
        "–",
        f"{spread:.2f} CPU s in {FOLDERS} folders",
        f"{flat:.2f} CPU s",
        f"≤ {MOST_TIMES:.0f} × that",
        flat <= MOST_TIMES * spread,
    )


def _largest(place: Place) -> Iterator[Row]:
    vault = _vault(place, f"spread-{LARGEST}", LARGEST, FOLDERS)
    _start(place, vault)
    search = [program(), "search", "what was said of the harbour?", "--vault", str(vault)]
    environment = place.environment(OFF)
    alone = median_process_cpu(search, environment, SEARCHES)
    with running(place, vault, OFF) as daemon:
        daemon.wait_until_calm()
        spent, took = _saves(vault, daemon)
        daemon.wait_until_calm()
        before = running_cpu(daemon.pid)
        time.sleep(IDLE_SECONDS)
        percent = 100 * (running_cpu(daemon.pid) - before) / IDLE_SECONDS
        beside = median_process_cpu(search, environment, SEARCHES)
    found = [seconds for seconds in took if seconds is not None]
    p50 = 1000 * statistics.median(found)
    what = f"{LARGEST:,} notes"
    yield Row(
        f"{what}, a save",
        "–",
        "–",
        f"{spent:.1f} CPU ms",
        f"≤ {MOST_SAVE_MS:.0f} CPU ms",
        spent <= MOST_SAVE_MS,
    )
    missed = len(took) - len(found)
    yield Row(
        f"{what}, save → found",
        "–",
        "–",
        f"p50 {p50:.1f} ms, {missed} missed",
        f"p50 ≤ {MOST_P50_MS:.0f} ms",
        p50 <= MOST_P50_MS and not missed,
    )
    yield Row(
        f"{what}, idle daemon",
        "–",
        "–",
        f"{percent:.2f} % of a processor",
        f"≤ {MOST_PERCENT} %",
        percent <= MOST_PERCENT,
    )
    yield Row(
        f"{what}, `search` as a new process beside a daemon",
        "–",
        "–",
        f"{beside:.2f} CPU s",
        f"≤ {MOST_SEARCH_SECONDS} CPU s",
        beside <= MOST_SEARCH_SECONDS,
    )
    bare = cpu_seconds(lambda: _look_at_all(vault))
    yield Row(
        f"{what}, `search` as a new process without one",
        "–",
        f"{bare:.2f} CPU s to list and stat them",
        f"{alone:.2f} CPU s",
        "–",
        None,
    )


def _saves(vault: Path, daemon: Running) -> tuple[float, list[float | None]]:
    """CPU milliseconds of the daemon for each save, the searches for it apart, and seconds until it was found."""
    asked = _asking(daemon)
    before = running_cpu(daemon.pid)
    took = save_all(vault, daemon, SAVES)
    daemon.wait_until_calm()
    return 1000 * ((running_cpu(daemon.pid) - before) / SAVES - asked), took


def _asking(daemon: Running) -> float:
    """CPU seconds of the daemon for one search for a word that nobody wrote."""
    before = running_cpu(daemon.pid)
    for _ in range(SAVES):
        daemon.ask(
            "search",
            {"query": "zqnowhere", "scopes": list(vaults.SCOPES), "mode": "keyword", "limit": 1},
        )
    return (running_cpu(daemon.pid) - before) / SAVES


def _vault(place: Place, name: str, notes: int, folders: int) -> Path:
    """A vault of short notes, which is indexed."""
    root = place.root / name
    words = vaults.Words(9)
    lines = [f"- {words.text(40, 100)}\n" for _ in range(2_000)]
    for number in range(notes):
        folder = root / ("memory" if folders == 1 else f"memory/{number % folders:03}")
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(words.random.choices(lines, k=4))
        (folder / f"note-{number:06}.md").write_text(f"# Note {number}\n\n{text}")
    with place.open(root) as memory:
        memory.index(embed=False)
    return root


def _start(place: Place, vault: Path) -> float:
    """CPU seconds of a daemon from its start until it has nothing left to do; of the second one."""
    spent = 0.0
    for _ in range(2):
        with running(place, vault, OFF) as daemon:
            spent = daemon.wait_until_calm()
    return spent


def _look_at_all(folder: Path) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _look_at_all(Path(entry.path))
            else:
                entry.stat(follow_symlinks=False)
