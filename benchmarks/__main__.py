"""`python -m benchmarks [NAME…]`: measures every row of the table, or those of the modules named, and prints it.

`--readme` measures the rows that README shows, and writes them there.
"""

import os
import sys
import time
from importlib import import_module

from benchmarks import readme
from benchmarks.place import temporary
from benchmarks.table import Row, head, line

MODULES = (
    "indexing",
    "saving",
    "documents",
    "searching",
    "starting",
    "idle",
    "vectors",
    "edits",
    "merge",
    "writing",
    "syncing",
    "requests",
    "recording",
    "duplicates",
    "conflicts",
    "nights",
    "prompting",
    "hooks",
    "scale",
    "hostile",
    "journeys",
    "page",
    "host",
    "fleet",
    "peers",
)
LONG = ("million",)
"""Measured only by name"""


def main(names: list[str]) -> None:
    """Print the table as its rows are measured."""
    is_for_readme = names == ["--readme"]
    if is_for_readme:
        names = list(readme.MODULES)
    if unknown := sorted(set(names) - {*MODULES, *LONG}):
        raise SystemExit(
            f"error: no benchmark `{unknown[0]}`; there are {', '.join(MODULES + LONG)}"
        )
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = (
        "1"  # one thread, before numpy is loaded
    )
    started, load_before = time.monotonic(), os.getloadavg()[0]
    measured: list[Row] = []
    print(head(), flush=True)
    with temporary() as place:
        for name in names or MODULES:
            for row in import_module(f"benchmarks.{name}").rows(place):
                measured.append(row)
                print(line(row.cells()), flush=True)
    took, load = time.monotonic() - started, os.getloadavg()[1]
    print(
        f"\nMeasured in {took:.0f} s on {os.cpu_count()} processors with a load of {load:.1f}. CPU times are medians,"
    )
    print(
        "of one thread; on a busy machine they grow, and the floors of the same run grow with them."
    )
    if is_for_readme:
        readme.write(measured, load_before)


if __name__ == "__main__":
    main(sys.argv[1:])
