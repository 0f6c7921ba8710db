"""From a save to a search that finds it, while notes of 1 MiB that were made to cost much come and go beside it."""

import os
import statistics
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.daemons import running
from benchmarks.idle import indexed
from benchmarks.place import OFF, Place
from benchmarks.saving import save_all
from benchmarks.table import Row

SAVES = 200
NOTES = 20
PAUSE_SECONDS = 0.25
"""After a note came or went"""
MOST_P95 = 150.0
KINDS = (
    lambda number: b"- b\n" * 262_000 + b"%d\n" % number,
    lambda number: b"".join(b"- b%d of %d\n" % (place, number) for place in range(70_000)),
    lambda number: b"".join(b"[r%d-%d]: /u\n" % (place, number) for place in range(50_000)),
    lambda number: b"# h%d\n" % number * 100_000,
)


def rows(place: Place) -> Iterator[Row]:
    """One row. The clock runs from before the save to when the answer with the new line has come."""
    vault = indexed(place, "hostile", OFF)
    with running(place, vault, OFF) as daemon:
        quiet = sorted(
            seconds for seconds in save_all(vault, daemon, SAVES // 4) if seconds is not None
        )
        with _coming_and_going(vault) as count:
            took = save_all(vault, daemon, SAVES)
        came = count()
    found = sorted(seconds for seconds in took if seconds is not None)
    missed = len(took) - len(found)
    p50, p95 = 1000 * statistics.median(found), 1000 * found[int(0.95 * len(found))]
    yield Row(
        f"save → found, daemon running, {NOTES} notes of 1 MiB coming and going ({came} did)",
        "",
        f"p50 {1000 * statistics.median(quiet):.1f} ms without them",
        f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, {missed} missed",
        f"p95 ≤ {MOST_P95:.0f} ms, none missed",
        p95 <= MOST_P95 and not missed,
    )


@contextmanager
def _coming_and_going(vault: Path) -> Iterator[Callable[[], int]]:
    """Meanwhile a thread saves and deletes such notes; gives a call that says how often."""
    stop = threading.Event()
    times = 0

    def go_on() -> None:
        nonlocal times
        folder = vault / "memory"
        folder.mkdir(exist_ok=True)
        while not stop.wait(PAUSE_SECONDS):
            number = times % NOTES
            note = folder / f"hostile{number}.md"
            if note.exists():
                note.unlink()
            else:
                fresh = folder / ".hostile"
                fresh.write_bytes(KINDS[number % len(KINDS)](times)[: 1 << 20])
                os.replace(fresh, note)
            times += 1

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield lambda: times
    finally:
        stop.set()
        thread.join()
