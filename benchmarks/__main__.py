"""`python -m benchmarks [NAME…]`: measures every row of the table, or those of the modules named, and prints it."""

import sys
import time
from importlib import import_module

from benchmarks.place import temporary
from benchmarks.table import head, line

MODULES = ("indexing", "saving", "searching", "starting", "idle", "vectors", "edits")


def main(names: list[str]) -> None:
    """Print the table as its rows are measured."""
    if unknown := sorted(set(names) - set(MODULES)):
        raise SystemExit(f"error: no benchmark `{unknown[0]}`; there are {', '.join(MODULES)}")
    started = time.monotonic()
    print(head(), flush=True)
    with temporary() as place:
        for name in names or MODULES:
            for row in import_module(f"benchmarks.{name}").rows(place):
                print(line(row.cells()), flush=True)
    print(f"\nmeasured in {time.monotonic() - started:.0f} s; CPU times are medians, of one thread")


if __name__ == "__main__":
    main(sys.argv[1:])
