"""A filter for the log of the server: a stranger could cause as many warnings as they like."""

import logging
import time

QUIET_SECONDS = 60.0
"""Between two lines in the log about the same trouble"""


class Repeats(logging.Filter):
    """Lets each kind of warning through once a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._next: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        kind = str(record.msg)  # without its arguments, of which there is no end
        now = time.monotonic()
        if now < self._next.get(kind, 0.0):
            return False
        self._next[kind] = now + QUIET_SECONDS
        return True


OF_SERVER = Repeats()


def quieten() -> None:
    """Set the filter on the server's own log; to do it again changes nothing."""
    logging.getLogger("uvicorn.error").addFilter(OF_SERVER)
