"""Three-way merge beside `git merge-file`: conflicts that nobody needed, silent mistakes, and time.

The same generated notes as in the tests, each edited on both sides, with an oracle that knows who did what. Git is run
over all of them in one shell loop, beside a loop of a git that does nothing: most of its time is a process's start.
"""

import resource
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cost import cpu_seconds, median_cpu
from benchmarks.place import Place
from benchmarks.table import Row
from benchmarks.vaults import Words
from tests.markdown.merging.oracle import Oracle
from tests.markdown.merging.triples import Triple, triple
from vault_memory.markdown.merging.three_way import merge

TRIPLES = 2_000
FIRST = 500_000
LARGE_ITEMS = 10_000
LARGE_EDITS = 100
MOST_CPU_MS = 300
ROUNDS = 5

LOOP = """
for number in $(seq 0 {last}); do
  {command}
done
"""
MERGE_FILE = "git merge-file -p -q $number.ours $number.base $number.theirs > $number.merged; echo $? > $number.exit"
NOTHING = "git version > $number.merged; echo $? > $number.exit"


@dataclass
class Tally:
    """How a merge did over all triples."""

    needless: int = 0
    wrong: int = 0
    clean: int = 0

    def add(
        self, oracle: Oracle, result: bytes | None, conflicts: bytes, *, conflict: bool
    ) -> None:
        self.needless += conflict and not oracle.conflicting and not oracle.returning
        if not conflict and result is not None:
            self.clean += 1
            self.wrong += bool(oracle.faults(result, conflicts))

    def share(self, count: int) -> str:
        return f"{100 * count / TRIPLES:.2f} %"


def rows(place: Place) -> Iterator[Row]:
    """Four rows: the time of a large note, while memory is empty; needless conflicts, mistakes, time of small notes."""
    yield _large()
    made = [triple(seed) for seed in range(FIRST, FIRST + TRIPLES)]
    folder = place.root / "merge"
    folder.mkdir()
    gits, ours = _git(folder, made), _ours(made)
    yield Row(
        f"merges that asked without need, of {TRIPLES:,}",
        f"{gits.share(gits.needless)} (git merge-file)",
        "–",
        ours.share(ours.needless),
        "0 of a section and item merge",
        None,
    )
    yield Row(
        f"clean merges that were wrong, of {ours.clean:,}",
        f"{gits.wrong:,} of {gits.clean:,} (git merge-file)",
        "0",
        f"{ours.wrong:,}",
        "0",
        ours.wrong == 0,
    )
    yield _small(folder, made)


def _ours(made: list[Triple]) -> Tally:
    tally = Tally()
    for one in made:
        merged = merge(*one.raws())
        told = b"".join(conflict.other + b"\n" for conflict in merged.conflicts)
        tally.add(
            Oracle(one),
            merged.result,
            told,
            conflict=merged.result is None or bool(merged.conflicts),
        )
    return tally


def _git(folder: Path, made: list[Triple]) -> Tally:
    for number, one in enumerate(made):
        for name, raw in zip(("base", "ours", "theirs"), one.raws(), strict=True):
            (folder / f"{number}.{name}").write_bytes(raw)
    _loop(folder, MERGE_FILE)
    tally = Tally()
    for number, one in enumerate(made):
        result = (folder / f"{number}.merged").read_bytes()
        tally.add(
            Oracle(one),
            result,
            b"",
            conflict=(folder / f"{number}.exit").read_text().strip() != "0",
        )
    return tally


def _loop(folder: Path, command: str) -> float:
    """CPU seconds of a git command run over all triples by one shell."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["sh", "-c", LOOP.format(last=TRIPLES - 1, command=command)], cwd=folder, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _small(folder: Path, made: list[Triple]) -> Row:
    raws = [one.raws() for one in made]
    mine = [cpu_seconds(lambda: [merge(*raw) for raw in raws]) for _ in range(ROUNDS)]
    whole, start = _loop(folder, MERGE_FILE), _loop(folder, NOTHING)
    micros = [1e6 * seconds / TRIPLES for seconds in (statistics.median(mine), whole, start)]
    size = statistics.mean(len(raw[0]) for raw in raws)
    return Row(
        f"merge of a note of {size:,.0f} bytes",
        f"{micros[1]:,.0f} CPU µs (git merge-file)",
        f"{micros[2]:,.0f} CPU µs (git version)",
        f"{micros[0]:,.0f} CPU µs",
        "–",
        None,
    )


def _large() -> Row:
    base, ours, theirs = (large(side) for side in (0, 1, 2))
    floor = median_cpu(lambda: [raw.decode().splitlines() for raw in (base, ours, theirs)], ROUNDS)
    milliseconds = 1e3 * median_cpu(lambda: merge(base, ours, theirs), ROUNDS)
    return Row(
        f"merge of a note of {len(base) / 2**20:.1f} MiB, {LARGE_ITEMS:,} items",
        "–",
        f"{1e3 * floor:.0f} ms to decode and split",
        f"{milliseconds:.0f} CPU ms",
        f"≤ {MOST_CPU_MS}",
        milliseconds <= MOST_CPU_MS,
    )


def large(side: int) -> bytes:
    """A note of about a MiB, with its hundredth part edited on a side that is not 0."""
    text, words = Words(1), Words(2 + side)
    items = [
        f"- {text.text(80, 120)} (2026-01-{number % 28 + 1:02}, ref:{number})"
        for number in range(LARGE_ITEMS)
    ]
    for _ in range(LARGE_EDITS if side else 0):
        place = words.random.randrange(LARGE_ITEMS)
        added = f"- {words.text(60, 90)}\n"
        edited = items[place].replace(" (", f" {words.word()} (")
        items[place] = words.random.choice([edited, added + items[place], ""])
    for number in range(0, LARGE_ITEMS, 50):
        items[number] = f"\n## Section {number // 50}\n\n{items[number]}"
    return "\n".join([*filter(None, items), ""]).encode()
