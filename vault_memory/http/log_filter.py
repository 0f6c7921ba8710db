"""Filters the log of the server, because any client could cause warnings without end."""

import logging
import time

QUIET_SECONDS = 60.0
"""Time between two lines in the log about the same problem"""


class Repeats(logging.Filter):
    """Lets each kind of warning through once a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._next: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        # Fault: the arguments are not part of the kind. A client could vary them
        # without end.
        kind = str(record.msg)
        now = time.monotonic()
        if now < self._next.get(kind, 0.0):
            return False
        self._next[kind] = now + QUIET_SECONDS
        return True


OF_SERVER = Repeats()


def quieten() -> None:
    """Adds the filter to the log of the server; a second call changes nothing."""
    logging.getLogger("uvicorn.error").addFilter(OF_SERVER)
