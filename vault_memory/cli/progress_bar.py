"""A progress bar for work that takes longer than a second."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from vault_memory.ingest.lifecycle import Progress

SILENT_SECONDS = 1.0
"""Shorter work draws no bar"""


@contextmanager
def bar() -> Iterator[Progress]:
    """Yield a function of (step, done, total) that draws a bar on stderr for each step."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    started = time.monotonic()
    # Bars move the cursor, which the guard of `sys.stderr` keeps from a terminal.
    # So they write to a stream of their own.
    stream = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    bars = Bars(console=Console(file=stream), transient=True)
    tasks: dict[str, object] = {}

    def advance(
        step: str,
        completed: int,
        total: int,
    ) -> None:
        if time.monotonic() - started < SILENT_SECONDS:
            return
        bars.start()
        if step not in tasks:
            tasks[step] = bars.add_task(step, total=total)
        bars.update(tasks[step], completed=completed, total=total)  # type: ignore[arg-type]

    try:
        yield advance
    finally:
        bars.stop()
        stream.close()
