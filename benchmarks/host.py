"""Many vaults of 50 notes in one host, asked over HTTP: memory, idle processor, opening, searching, fairness.

A vault more costs what a host of 100 or 1,000 needs beyond a host of 10. The vaults lie in
nested folders, so that one set of vaults serves for all three sizes.
"""

import os
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import daemons, hosts, vaults
from benchmarks.cost import cpu_seconds, running_cpu
from benchmarks.hosts import Served
from benchmarks.place import OFF, Place
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory

SIZES = (10, 100, 1_000)
DAEMONS = 10
IDLE_SECONDS = 30
NEVER = 100_000
"""A time after which no vault is closed in a measurement"""
QUESTIONS = 60
ROUNDS = 5
OTHERS = 10_000
NEW_VAULTS = 30
LARGE = 10_000
"""Notes of the vault that is read beside the searches"""
FAIR_SEARCHES = 400
PAUSE_SECONDS = 0.02
MOST_QUIET_SECONDS = 0.5
"""CPU seconds of a host that has nothing to do, in five seconds"""
CLOSING_SECONDS = 3.0
"""Time between two looks whether all vaults are closed"""
WARM_SECONDS = 2.0
"""The host has found the large vault and reads it"""

MOST_MEGABYTES = 1.0
MOST_IDLE_SHARE = 1 / 20
MOST_OPEN_MILLISECONDS = 5.0
MOST_SEARCH_RATIO = 1.2
MOST_FIRST_RATIO = 2.0
MOST_DELAY_MILLISECONDS = 50.0


def rows(place: Place) -> Iterator[Row]:
    """For each size memory, opening, and the processor of idle vaults; and four rows more."""
    folders = _folders(place)
    roots = _roots(folders)
    hosts.make(place, roots)
    daemon_share = _idle_daemon(place, roots[:DAEMONS])
    yield _plain("one idle daemon, processor", f"{100 * daemon_share:.3f} % of a core")
    smallest = 0
    for size in SIZES:
        names = [root.name for root in roots[:size]]
        settings = {"most_open": 2 * size, "idle_seconds": NEVER}
        with hosts.host(place, folders[size], settings) as host:
            _open_all(host, names)
            _wait_until_quiet(host)
            memory = host.memory()
            smallest = smallest or memory
            yield _memory_row(size, memory, smallest)
            yield _idle_row(size, "open", _share(host), daemon_share)
            if size == SIZES[-1]:
                yield from _search_rows(place, host, roots[0])
        yield from _closed_rows(place, folders[size], names, daemon_share)
    yield _first_row(place)
    yield _fairness_row(place, folders[SIZES[0]], [root.name for root in roots[:10]])


def _folders(place: Place) -> dict[int, Path]:
    """Each size has a folder, and the smaller ones are in it."""
    folder = place.root / "people"
    folders: dict[int, Path] = {}
    for size in reversed(SIZES):
        folders[size] = folder
        folder = folder / f"inner-{size}"
    return folders


def _roots(folders: dict[int, Path]) -> list[Path]:
    roots: list[Path] = []
    for size, folder in sorted(folders.items()):
        roots.extend(folder / f"v{number:04d}" for number in range(len(roots), size))
    return roots


def _plain(figure: str, ours: str) -> Row:
    return Row(figure, "–", "–", ours, "–", None)


# --- Idle ---


def _idle_daemon(place: Place, roots: Sequence[Path]) -> float:
    """Returns the share of a core that a daemon uses, the mean of some."""
    with ExitStack() as stack:
        running = [stack.enter_context(daemons.running(place, root, OFF)) for root in roots]
        for daemon in running:
            arguments = {"query": "what was said of the harbour?", "scopes": []}
            daemon.ask("search", arguments)
        time.sleep(10)
        before = sum(running_cpu(daemon.pid) for daemon in running)
        time.sleep(IDLE_SECONDS)
        after = sum(running_cpu(daemon.pid) for daemon in running)
    return (after - before) / IDLE_SECONDS / len(roots)


def _open_all(host: Served, names: Sequence[str]) -> None:
    for name in names:
        host.search(hosts.token(name), "what was said of the harbour?")


def _wait_until_quiet(host: Served) -> None:
    """Waits until the first visits are over."""
    deadline = time.monotonic() + hosts.PATIENCE_SECONDS
    while time.monotonic() < deadline:
        before = host.cpu()
        time.sleep(5)
        if host.cpu() - before < MOST_QUIET_SECONDS:
            return
    raise SystemExit("error: the host is still busy")


def _share(host: Served) -> float:
    before = host.cpu()
    time.sleep(IDLE_SECONDS)
    return (host.cpu() - before) / IDLE_SECONDS


def _memory_row(size: int, memory: int, smallest: int) -> Row:
    total = f"{memory / 1e6:.0f} MB"
    if size == SIZES[0]:
        return _plain(f"host, {size} open vaults, memory", total)
    each = (memory - smallest) / (size - SIZES[0]) / 1e6
    return Row(
        f"host, {size:,} open vaults, memory",
        "–",
        "–",
        f"{total}, {each:.2f} MB a vault",
        f"≤ {MOST_MEGABYTES} MB a vault",
        each <= MOST_MEGABYTES,
    )


def _idle_row(size: int, state: str, share: float, daemon_share: float) -> Row:
    """The vaults of a host that nobody asks are closed; open ones show what use leaves behind."""
    ratio = share / (size * daemon_share)
    is_judged = size == SIZES[-1] and state == "closed"
    return Row(
        f"host, {size:,} idle vaults, {state}, processor",
        f"{size:,} daemons: {100 * size * daemon_share:.1f} % of a core",
        "–",
        f"{100 * share:.2f} % of a core, 1/{1 / ratio:.0f}",
        "≤ 1/20 of daemons" if is_judged else "–",
        ratio <= MOST_IDLE_SHARE if is_judged else None,
    )


# --- Opening and searching ---


def _closed_rows(
    place: Place, folder: Path, names: Sequence[str], daemon_share: float
) -> Iterator[Row]:
    """Each search opens its vault; a moment later, the host closes it. Then nothing happens."""
    size = len(names)
    settings = {"most_open": 2 * size, "idle_seconds": 1}
    with hosts.host(place, folder, settings) as host:
        _wait_until_quiet(host)
        _wait_until_closed(place, folder)
        took = []
        for _ in range(ROUNDS if size < SIZES[-1] else 1):
            before = host.cpu()
            _open_all(host, names)
            _wait_until_closed(place, folder)
            took.append(1000 * (host.cpu() - before) / size)
        yield _opening_row(size, statistics.median(took))
        yield _idle_row(size, "closed", _share(host), daemon_share)


def _opening_row(size: int, ours: float) -> Row:
    return Row(
        f"host, {size:,} vaults: open, search, close, over HTTP",
        "–",
        "–",
        f"{ours:.2f} CPU ms",
        f"≤ {MOST_OPEN_MILLISECONDS:.0f} CPU ms",
        ours <= MOST_OPEN_MILLISECONDS,
    )


def _wait_until_closed(place: Place, folder: Path) -> None:
    deadline = time.monotonic() + hosts.PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if set(hosts.states(place, folder)) == {"closed"}:
            return
        time.sleep(CLOSING_SECONDS)
    raise SystemExit("error: the host does not close its vaults")


def _search_rows(place: Place, host: Served, root: Path) -> Iterator[Row]:
    """The same vault in a host of its own, and in `serve`."""
    alone = place.root / "alone" / "copy"
    hosts.make(place, [alone])
    texts = [note.read_text() for note in sorted(root.rglob("*.md"))]
    questions = vaults.questions(texts, QUESTIONS)
    config = ["--vault", str(alone), "serve"]
    with (
        hosts.host(place, alone.parent, {"idle_seconds": NEVER}) as only,
        hosts.served(place, config) as serving,
    ):
        names = (root.name, alone.name, alone.name)
        processes = (host, only, serving)
        took: list[list[float]] = [[], [], []]
        for _ in range(ROUNDS):
            answers = []
            for process, name, times in zip(processes, names, took, strict=True):
                before = process.cpu()
                answers.append(_answers(process, name, questions))
                times.append(1000 * (process.cpu() - before) / QUESTIONS)
            if not answers[0] == answers[1] == answers[2]:
                raise SystemExit("error: a host of many vaults finds something else")
    ours, single, served = (statistics.median(times) for times in took)
    yield Row(
        f"search over HTTP among {SIZES[-1]:,} open vaults, same hits and scores",
        f"{served:.2f} CPU ms in `serve`",
        f"{single:.2f} CPU ms in a host of this vault",
        f"{ours:.2f} CPU ms, × {ours / single:.2f}",
        f"≤ × {MOST_SEARCH_RATIO}",
        ours <= MOST_SEARCH_RATIO * single,
    )


def _answers(process: Served, name: str, questions: Sequence[str]) -> list[Any]:
    return [
        [
            (hit["note"], hit["text"], hit["score"])
            for hit in process.search(hosts.token(name), question)
        ]
        for question in questions
    ]


# --- A new vault ---


def _first_row(place: Place) -> Row:
    """Opening a vault that no process has opened before, in a state folder of many."""
    alone = statistics.median(_first_open(place, "solo", n) for n in range(NEW_VAULTS))
    for number in range(OTHERS):
        _first_open(place, "crowd", number)
    numbers = range(OTHERS, OTHERS + NEW_VAULTS)
    ours = statistics.median(_first_open(place, "crowd", n) for n in numbers)
    return Row(
        f"first open of a vault beside {OTHERS:,} others",
        "–",
        f"{1000 * alone:.2f} CPU ms alone",
        f"{1000 * ours:.2f} CPU ms, × {ours / alone:.2f}",
        f"≤ × {MOST_FIRST_RATIO:.0f}",
        ours <= MOST_FIRST_RATIO * alone,
    )


def _first_open(place: Place, group: str, number: int) -> float:
    root = place.root / group / f"n{number:05d}"
    root.mkdir(parents=True)
    (root / "USER.md").write_text("- tea\n")
    states = str(place.root / f"state-{group}")
    environment = place.environment() | {"XDG_STATE_HOME": states}
    return cpu_seconds(lambda: VaultMemory.open(root, environment=environment).close())


# --- Fairness ---


def _fairness_row(place: Place, folder: Path, names: Sequence[str]) -> Row:
    """Searches by the clock, alone and while the host reads a large new vault."""
    with hosts.host(place, folder, {"idle_seconds": NEVER}) as host, ThreadPoolExecutor(1) as pool:
        _open_all(host, names)
        _wait_until_quiet(host)
        alone = _delays(host, names)
        large = place.root / "large"
        vaults.write(large, LARGE, scopes=(0,))
        hosts.give_token(place, large)
        os.rename(large, folder / "large")
        while len(hosts.states(place, folder)) == len(names):
            # The host looks for new vaults from time to time.
            time.sleep(1)
        reading = pool.submit(_read, host, hosts.token("large"))
        time.sleep(WARM_SECONDS)
        beside = _delays(host, names)
        overlaps = not reading.done()
        reading.result()
    if not overlaps:
        raise SystemExit("error: the large vault was read before the searches ended")
    delay = _p99(beside) - _p99(alone)
    return Row(
        f"p99 of a search beside a vault of {LARGE:,} notes being read, by the clock",
        "–",
        f"{_p99(alone):.0f} ms alone",
        f"{_p99(beside):.0f} ms, {delay:+.0f} ms",
        f"≤ +{MOST_DELAY_MILLISECONDS:.0f} ms",
        delay <= MOST_DELAY_MILLISECONDS,
    )


def _read(host: Served, token: str) -> None:
    """The first search in a new vault waits until it is read."""
    host.search(token, "what was said of the harbour?")


def _delays(host: Served, names: Sequence[str]) -> list[float]:
    draw = random.Random(3)
    took = []
    for number in range(FAIR_SEARCHES):
        name = draw.choice(list(names))
        query = f"{draw.choice(vaults.FUNCTION_WORDS.split())} garden {number}"
        started = time.perf_counter()
        host.search(hosts.token(name), query)
        took.append(1000 * (time.perf_counter() - started))
        time.sleep(PAUSE_SECONDS)
    return took


def _p99(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=100)[98]
