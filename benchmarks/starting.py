"""A new process: `search` without a daemon, and `--help`."""

import sys
from collections.abc import Iterator

from benchmarks import vaults
from benchmarks.cost import median_process_cpu
from benchmarks.place import USUAL, Place, program
from benchmarks.table import Row

ROUNDS = 15


def rows(place: Place) -> Iterator[Row]:
    """Two rows, each with the bare interpreter for a floor."""
    environment = place.environment(USUAL)
    vault = place.vault("1000-notes", 1_000)
    with place.open(vault) as memory:
        memory.index(embed=False)
    text = next(vault.rglob("*.md")).read_text("utf-8")
    (question,) = vaults.questions([text], 1)
    interpreter = median_process_cpu([sys.executable, "-c", "pass"], environment, ROUNDS)
    search = [program(), "search", question, "--vault", str(vault)]
    for figure, command, peer, most in (
        ("`search` as a new process, 1,000 notes", search, 207, 150),
        ("`--help`", [program(), "--help"], 180, 80),
    ):
        ours = 1000 * median_process_cpu(command, environment, ROUNDS)
        floor = f"{1000 * interpreter:.0f} CPU ms (`python -c pass`)"
        yield Row(figure, f"{peer} CPU ms", floor, f"{ours:.0f} CPU ms", f"≤ {most} CPU ms", ours <= most)
