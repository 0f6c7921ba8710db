"""What views and buttons of the page cost, with a daemon: CPU time of both processes."""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.cost import cpu_seconds, median_cpu, resident_bytes, running_cpu
from benchmarks.daemons import running
from benchmarks.page_process import SETTLED_SECONDS, TABS, PageProcess, Tab, page_process
from benchmarks.place import OFF, Place
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory

VIEWS = 31
"""Requests of each view"""
WARMING = 5
BUTTONS = 9
SAVES = 200
PATIENCE_SECONDS = 5.0
IDLE_SECONDS = 60
HEADING = "Harbour"
QUERY = "harbour"
LONG_NOTE_BYTES = 4_000
VERSIONS = 8
MOST_KILOBYTES = 100
MOST_BUTTON_MS = 60.0
MOST_P50, MOST_P95 = 60.0, 300.0
MOST_IDLE_SECONDS = 0.05
MOST_END_SECONDS = 1.0
MOST_MEGABYTES = 90


def rows(place: Place, vault: Path, note: str, size: str) -> Iterator[Row]:
    """The figures of each view and button. `note` becomes a note of 4 kB with versions."""
    (vault / note).write_text(_long_note())
    with place.open(vault) as memory:
        memory.index(embed=False)
        for number in range(VERSIONS):
            _append(memory, note, f"a boat came at {number}")
        with running(place, vault, OFF) as daemon, page_process(place, vault, daemon.pid) as page:
            page.wait_until_quiet()
            # As in a browser: each view keeps a stream of events open.
            tab = page.open_tab()
            yield from _views(page, memory, note, size)
            yield _home_after_saves(page, vault / note, size)
            yield _buttons(page, memory, note, size)
            yield from _seen(page, vault, tab)
            yield _idle(page)
            yield _memory_row(page)
            yield _end(page)


# ---- views and buttons -------------------------------------------------------------------


def _views(page: PageProcess, memory: VaultMemory, note: str, size: str) -> Iterator[Row]:
    scopes = memory.scopes()
    views: list[tuple[str, float, str, Callable[[], object]]] = [
        ("/", 10, "log()", memory.log),
        ("/log", 40, "log(limit=50)", lambda: memory.log(limit=50)),
        (f"/search?q={QUERY}", 12, "search()", lambda: memory.search(QUERY, scopes=scopes)),
        (f"/note/{note}", 10, "read()", lambda: memory.read(note)),
        (f"/history/{note}", 15, "history()", lambda: memory.history(note)),
    ]
    for path, most, call, work in views:
        for _ in range(WARMING):
            length = len(page.get(path)) / 1000
            work()
        took = 1000 * statistics.median(page.get_cpu(path) for _ in range(VIEWS))
        floor = 1000 * median_cpu(work, BUTTONS)
        yield Row(
            f"page `{path.removesuffix(note)}`, {size}",
            "–",
            f"{floor:.1f} CPU ms: `{call}`",
            f"{took:.1f} CPU ms, {length:.0f} kB",
            f"≤ {most:.0f} CPU ms, ≤ {MOST_KILOBYTES} kB",
            took <= most and length <= MOST_KILOBYTES,
        )


def _home_after_saves(page: PageProcess, file: Path, size: str) -> Row:
    """Home and what the daemon does about the save before it."""
    costs = []
    for number in range(BUTTONS):
        before = page.cpu()
        _save(file, f"boat {number}", by_rename=False)
        time.sleep(SETTLED_SECONDS)
        page.get("/")
        costs.append(page.cpu() - before)
    cost = 1000 * statistics.median(costs)
    return Row(f"page, a save and then `/`, {size}", "–", "–", f"{cost:.0f} CPU ms", "–", None)


def _buttons(page: PageProcess, memory: VaultMemory, note: str, size: str) -> Row:
    """An op on an item, and undoing it, by turns."""
    adding = []
    undoing = []
    calls = []
    for number in range(BUTTONS):
        form = {
            "note": note,
            "expected": memory.read(note).revision,
            "heading": HEADING,
            "line": f"a ship came at {number}",
        }
        adding.append(page.post_cpu("/note/append", form))
        record = memory.log(note, limit=1)[0]
        undoing.append(page.post_cpu("/log/undo", {"id": record.id}))
        add_raft = partial(_append, memory, note, f"a raft came at {number}")
        calls.append(cpu_seconds(add_raft))
    add = 1000 * statistics.median(adding)
    undo = 1000 * statistics.median(undoing)
    floor = 1000 * statistics.median(calls)
    return Row(
        f"page, an op on an item and its undo, {size}",
        "–",
        f"{floor:.1f} CPU ms: `apply()` without the daemon's share",
        f"op {add:.1f} CPU ms, undo {undo:.1f}",
        f"≤ {MOST_BUTTON_MS:.0f} CPU ms each",
        max(add, undo) <= MOST_BUTTON_MS,
    )


def _append(memory: VaultMemory, note: str, line: str) -> None:
    op = {"op": "append", "heading": HEADING, "line": line}
    memory.apply(note, [op], source="cli")
    time.sleep(SETTLED_SECONDS)


def _long_note() -> str:
    """A note of 4 kB: items in two sections."""
    items: list[str] = []
    while len("".join(items)) < LONG_NOTE_BYTES:
        items.append(f"- ship {len(items)} brought tea, oranges and letters from home\n")
    return f"# Boats\n\n{''.join(items)}\n## {HEADING}\n\n- the ferry\n"


# ---- open tabs ---------------------------------------------------------------------------


def _seen(page: PageProcess, vault: Path, tab: Tab) -> Iterator[Row]:
    notes = sorted(path.relative_to(vault).as_posix() for path in vault.rglob("*.md"))
    draw = random.Random(3)
    told: list[float] = []
    shown: list[float] = []
    for number in range(SAVES):
        word = f"zq{number}seen"
        started = time.perf_counter()
        note = draw.choice(notes)
        _save(vault / note, word, by_rename=number % 2 == 0)
        moment = tab.seen_at(note, PATIENCE_SECONDS)
        if moment is not None:
            told.append(1000 * (moment - started))
            if f"remember the {word}" in page.get(f"/search?q={word}").decode():
                shown.append(1000 * (time.perf_counter() - started))
        time.sleep(draw.uniform(0.02, 0.12))
    saves = f"{SAVES} saves, half by rename, half in place"
    yield _seen_row(f"page, save → a tab is told, {saves}", told)
    yield _seen_row(f"page, save → `/search` asked again shows it, {saves}", shown)


def _seen_row(figure: str, milliseconds: Sequence[float]) -> Row:
    p50, p95 = _percentiles(milliseconds)
    missed = SAVES - len(milliseconds)
    return Row(
        figure,
        "–",
        "–",
        f"p50 {p50:.0f} ms, p95 {p95:.0f} ms, {missed} missed",
        f"p50 ≤ {MOST_P50:.0f} ms, p95 ≤ {MOST_P95:.0f} ms, none missed",
        p50 <= MOST_P50 and p95 <= MOST_P95 and not missed,
    )


def _save(file: Path, word: str, *, by_rename: bool) -> None:
    raw = file.read_bytes() + f"\n- remember the {word} of today\n".encode()
    if not by_rename:
        file.write_bytes(raw)
        return
    new = file.with_suffix(".tmp")
    new.write_bytes(raw)
    os.replace(new, file)


def _percentiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    """The median, and what 95 of 100 do not exceed."""
    ordered = sorted(milliseconds)
    if not ordered:
        return float("inf"), float("inf")
    return statistics.median(ordered), ordered[int(0.95 * len(ordered))]


def _idle(page: PageProcess) -> Row:
    """A minute of one tab that nothing happens to."""
    time.sleep(3)
    daemon = running_cpu(page.daemon_pid)
    own = running_cpu(page.process.pid)
    time.sleep(IDLE_SECONDS)
    own = running_cpu(page.process.pid) - own
    daemon = running_cpu(page.daemon_pid) - daemon
    return Row(
        f"page, an idle tab for {IDLE_SECONDS} s",
        "–",
        f"{daemon:.3f} CPU s: the daemon, which looks through the vault",
        f"{own:.3f} CPU s",
        f"≤ {MOST_IDLE_SECONDS} CPU s",
        own <= MOST_IDLE_SECONDS,
    )


def _memory_row(page: PageProcess) -> Row:
    megabytes = resident_bytes(page.process.pid) / 1e6
    return Row(
        "page, memory after all of this",
        "–",
        "–",
        f"{megabytes:.0f} MB",
        f"≤ {MOST_MEGABYTES} MB",
        megabytes <= MOST_MEGABYTES,
    )


def _end(page: PageProcess) -> Row:
    while len(page.tabs) < TABS:
        page.open_tab()
    seconds = page.seconds_to_end()
    return Row(
        f"page, SIGTERM with {TABS} tabs",
        "–",
        "–",
        f"{seconds:.2f} s",
        f"≤ {MOST_END_SECONDS:.0f} s, ended with 0",
        seconds <= MOST_END_SECONDS,
    )
