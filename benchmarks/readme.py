"""The table of figures in README, made from rows of one run: `python -m benchmarks --readme`."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.table import Row

README = Path(__file__).parent.parent / "README.md"
FIGURES = (
    "cold text index, 10,000 notes",
    "save → found, daemon running",
    "search by words, all 12 scopes",
    "search with vectors, all 12 scopes",
    "embedding",
    "`search` as a new process, 1,000 notes",
    "`hook` for a prompt",
    "`append`",
    "first start of `run`",
    "idle daemon, 1,000 notes",
    "requests of `sync --once`, 250 notes on a Nextcloud",
    "one turn by a call of Python",
    "memory block for a prompt",
    "daemon start, 50,000",
    "100,000 notes, save",
    "100,000 notes, idle",
    "100,000 notes, `search`",
)
"""How the names of the rows begin that README shows, in the order of a run"""
MODULES = (
    *("indexing", "saving", "searching", "starting", "idle", "vectors", "requests", "recording"),
    *("prompting", "scale"),
)
"""The benchmarks that measure them"""
HEAD = "|What|Measured|Others|\n|---|---|---|\n"
TABLE = re.compile(r"(?<=## How fast\n\n).*?(?=\n\n(?!\|))", re.DOTALL)


def write(rows: Iterable[Row], load: float, readme: Path = README) -> None:
    """Put the rows that README shows into its table, and the load before the run.

    Raises SystemExit if a row is missing.
    """
    shown = [row for row in rows if row.figure.startswith(FIGURES)]
    for figure in FIGURES:
        if not any(row.figure.startswith(figure) for row in shown):
            raise SystemExit(f"error: no row `{figure}`; it stays as it is")
    text = (
        f"One run of `make bench` on generated vaults (notes of 2 kB, 15 chunks each), on"
        f" {os.cpu_count()} processors\nwith a load of {load:.1f} before it: CPU time of one core,"
        " medians. Beside it what other programs take, or `python -c pass`.\n\n"
    )
    lines = [f"|{row.figure}|{row.ours}|{row.peer}|\n" for row in shown]
    page = readme.read_text("utf-8")
    readme.write_text(TABLE.sub(lambda _: f"{text}{HEAD}{''.join(lines)}".rstrip(), page), "utf-8")
