"""From a save to a search that finds it, with a daemon as a process of its own: half by rename, half in place."""

import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import vaults
from benchmarks.daemons import Running, running
from benchmarks.idle import indexed
from benchmarks.place import OFF, ONNX, Place
from benchmarks.table import Row

SAVES, FEWER = 200, 60
PATIENCE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 0.12
MOST_P50, MOST_P95 = 20.0, 80.0


def rows(place: Place) -> Iterator[Row]:
    """Two rows. The clock runs from before the save to when the answer with the new line has come."""
    yield _row(
        place,
        f"{SAVES} saves, half by rename, half in place",
        indexed(place, "saved", OFF),
        OFF,
        SAVES,
    )
    yield _row(
        place,
        f"{FEWER} of them while a model embeds",
        indexed(place, "saved-onnx", ONNX),
        ONNX,
        FEWER,
    )


def _row(place: Place, what: str, vault: Path, embedding: dict[str, str], saves: int) -> Row:
    with running(place, vault, embedding) as daemon:
        bare = statistics.median(_bare_answer(daemon) for _ in range(50))
        took = save_all(vault, daemon, saves)
    found = sorted(seconds for seconds in took if seconds is not None)
    p50, p95 = 1000 * statistics.median(found), 1000 * found[int(0.95 * len(found))]
    missed = len(took) - len(found)
    return Row(
        f"save → found, daemon running, {what}",
        "213 ms p50; one misses every rename",
        f"{1000 * bare:.1f} ms: an answer over the socket",
        f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, {missed} missed",
        f"p50 ≤ {MOST_P50:.0f} ms, p95 ≤ {MOST_P95:.0f} ms, none missed",
        p50 <= MOST_P50 and p95 <= MOST_P95 and not missed,
    )


def _bare_answer(daemon: Running) -> float:
    started = time.perf_counter()
    _finds(daemon, "nowhere")
    return time.perf_counter() - started


def save_all(vault: Path, daemon: Running, saves: int) -> list[float | None]:
    """Save some notes; of each the seconds until a search has found it, or None."""
    notes = sorted(vault.rglob("*.md"))
    draw = random.Random(3)
    took = []
    for number in range(saves):
        took.append(
            _save(draw.choice(notes), f"zq{number}saved", daemon, by_rename=number % 2 == 0)
        )
        time.sleep(draw.uniform(0.02, LONGEST_PAUSE_SECONDS))
    return took


def _save(note: Path, word: str, daemon: Running, *, by_rename: bool) -> float | None:
    """Seconds until the word is found; None when it is not."""
    raw = note.read_bytes() + f"\n- remember the {word} of today\n".encode()
    started = time.perf_counter()
    if by_rename:
        fresh = note.with_suffix(".tmp")
        fresh.write_bytes(raw)
        os.replace(fresh, note)
    else:
        note.write_bytes(raw)
    while time.perf_counter() - started < PATIENCE_SECONDS:
        if _finds(daemon, word):
            return time.perf_counter() - started
    return None


def _finds(daemon: Running, word: str) -> bool:
    asked = {"query": word, "scopes": list(vaults.SCOPES), "mode": "keyword", "limit": 1}
    return any(word in hit["text"] for hit in daemon.ask("search", asked)["hits"])
