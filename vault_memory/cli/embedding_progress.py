"""Shows how far the daemon is with embedding: one line on a terminal, else a line at each end."""

import time
from collections.abc import Callable
from typing import TextIO

from vault_memory.cli.options import Context
from vault_memory.cli.progress_bar import PAUSE_SECONDS, picture

FEWEST_CHUNKS = 64
"""A saved note brings a few chunks, which take less than a second"""
_CLEAR_LINE = "\r\x1b[K"


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
