"""Progress of work that takes longer than a second: a bar, or a line at each end of embedding."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TextIO

from vault_memory.cli.options import Context
from vault_memory.cli.screen import cells, columns_of
from vault_memory.cli.terminal import escaped
from vault_memory.ingest.lifecycle import Progress

SILENT_SECONDS = 1.0
"""Shorter work draws no bar"""
PAUSE_SECONDS = 0.1
"""Time between two pictures of a bar"""
LONGEST_BAR = 30
_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def bar() -> Iterator[Progress]:
    """Yield a function of (step, done, total) that draws a bar on stderr for each step."""
    # A bar moves the cursor, which the guard of `sys.stderr` keeps from a terminal.
    # So it writes to a stream of its own.
    stream = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    started = time.monotonic()
    starts: dict[str, tuple[float, int]] = {}
    drawn_at = 0.0

    def advance(step: str, completed: int, total: int) -> None:
        nonlocal drawn_at
        now = time.monotonic()
        step_started, completed_before = starts.setdefault(step, (now, completed))
        is_soon = now - drawn_at < PAUSE_SECONDS and completed < total
        if now - started < SILENT_SECONDS or is_soon:
            return
        drawn_at = now
        seconds = _seconds_left(now - step_started, completed - completed_before, total - completed)
        stream.write(_CLEAR_LINE + picture(step, completed, total, seconds))
        stream.flush()

    try:
        yield advance
    finally:
        if drawn_at:
            stream.write(_CLEAR_LINE)
        stream.close()


def _seconds_left(elapsed: float, completed: int, remaining: int) -> float | None:
    """Return the seconds that the remaining units take; None while that is unknown."""
    if completed <= 0 or elapsed < SILENT_SECONDS:
        return None
    return elapsed / completed * remaining


def picture(step: str, completed: int, total: int, seconds: float | None) -> str:
    """Return the bar of a step in one line of the terminal on stderr."""
    share = completed / total if total else 1.0
    texts = [f"{share:4.0%}", f"{completed:,} of {total:,}"]
    if seconds is not None:
        left = timedelta(seconds=round(seconds))
        texts.append(f"{left} left")
    text = f"{escaped(step)} " + ", ".join(texts)
    # The last column stays free: some terminals break the line there.
    columns = columns_of(2) - 1
    room = min(LONGEST_BAR, columns - cells(text) - 3)
    if room < 4:
        return text[:columns]
    filled = round(share * room)
    return f"{text} [{'#' * filled}{' ' * (room - filled)}]"


FEWEST_CHUNKS = 64
"""A saved note brings a few chunks, which take less than a second"""


class EmbeddingProgress:
    """Takes the steps of embedding, in the thread that embeds."""

    def __init__(
        self, context: Context, terminal: TextIO | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context = context
        self._clock = clock
        self._terminal = terminal
        self._started = 0.0
        self._drawn = 0.0
        self._before = 0

    def __call__(self, step: str, completed: int, total: int) -> None:
        """Show that `completed` of `total` chunks are embedded."""
        if total < FEWEST_CHUNKS:
            return
        now = self._clock()
        if not self._started:
            self._started, self._before = now, completed
            self._context.say(f"embedding {total:,} chunks")
        elif completed >= total:
            self._end(total, now - self._started)
        elif self._terminal is not None and now - self._drawn >= PAUSE_SECONDS:
            self._drawn = now
            seconds_each = (now - self._started) / (completed - self._before)
            line = picture(step, completed, total, seconds_each * (total - completed))
            # Fault: a line about a note would be appended to this one, so the cursor goes back.
            self._terminal.write(f"{_CLEAR_LINE}{line}\r")
            self._terminal.flush()

    def _end(self, total: int, seconds: float) -> None:
        self._started = 0.0
        if self._terminal is not None:
            self._terminal.write(_CLEAR_LINE)
            self._terminal.flush()
        self._context.say(f"embedded {total:,} chunks in {seconds:.0f} s")


def progress_of(context: Context) -> EmbeddingProgress:
    """Return the progress for this command: on a terminal it draws."""
    if not context.can_draw():
        return EmbeddingProgress(context, None)
    # A bar moves the cursor, which the guard of `sys.stderr` keeps from a terminal.
    stream = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    return EmbeddingProgress(context, stream)
