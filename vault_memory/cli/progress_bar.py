"""A progress bar for work that takes over a second."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from vault_memory.ingest.lifecycle import Progress

PATIENCE_SECONDS = 1.0


@contextmanager
def bar() -> Iterator[Progress]:
    """Gives a function to call with (what, done, total); draws nothing in the first second."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    started = time.monotonic()
    # Bars move the cursor, which the guard of `sys.stderr` keeps from a terminal: they have a stream of their own.
    stream = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    bars = Bars(console=Console(file=stream), transient=True)
    tasks: dict[str, object] = {}

    def tell(what: str, done: int, total: int) -> None:
        if time.monotonic() - started < PATIENCE_SECONDS:
            return
        bars.start()
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

    try:
        yield tell
    finally:
        bars.stop()
        stream.close()
