"""Tells the service manager how the daemon is: that it is ready, what it does, and that its loop still turns.

The protocol is that of sd_notify: small datagrams to the socket that NOTIFY_SOCKET names. The signs of life are sent
by the loop itself, between two pieces of work; a loop that hangs sends none, and is started anew.
"""

import logging
import os
import socket
import time
from collections.abc import Mapping

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.2
"""For a manager that takes nothing: the loop has other things to do"""
START_SECONDS = 120
"""By how long a start that makes progress is drawn out"""
SAY_SECONDS = 5.0
"""Between two lines about the same work"""


class Notify:
    """One per daemon; without NOTIFY_SOCKET nothing is said to anybody."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._between = _between(environment) if self._address else None
        """seconds between two signs of life: a quarter of what is waited for one"""
        self._next_sign = 0.0
        self._next_line = 0.0
        self._status = ""
        self._is_ready = False

    def ready(self, status: str) -> None:
        """The first look at all notes is done; from now on signs of life are waited for."""
        self._is_ready = True
        self._status = status
        self._send("READY=1", f"STATUS={status}")
        self._sign()

    def wait(self) -> float:
        """How long the loop may sleep, as far as this goes."""
        return (
            float("inf")
            if self._between is None
            else max(0.0, self._next_sign - time.monotonic())
        )

    def turn(self, status: str) -> None:
        """The loop has turned once more."""
        if status != self._status:
            self._status = status
            self._send(f"STATUS={status}")
        if self._between is not None and time.monotonic() >= self._next_sign:
            self._sign()

    def progress(self, done: int, total: int) -> None:
        """A long piece of work goes on: so many of so many notes were read."""
        now = time.monotonic()
        if self._is_ready:
            if self._between is not None and now >= self._next_sign:
                self._sign()
        elif now >= self._next_line:
            self._next_line = now + SAY_SECONDS
            self._send(
                f"EXTEND_TIMEOUT_USEC={START_SECONDS * 1_000_000}",
                f"STATUS=read {done} of {total} notes",
            )

    def stopping(self) -> None:
        """It was told to end."""
        self._between = None
        self._send("STOPPING=1", "STATUS=ending")

    def _sign(self) -> None:
        if self._between is not None:
            self._next_sign = time.monotonic() + self._between
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
                to.settimeout(PATIENCE_SECONDS)
                to.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            logger.info("the service manager cannot be told: %s", error)


def _address(named: str) -> bytes | None:
    """A path, or an abstract name, which begins with ``@``; others, such as vsock, are not spoken to."""
    if named.startswith("@") and len(named) > 1:
        return b"\0" + os.fsencode(named[1:])
    return os.fsencode(named) if named.startswith("/") else None


def _between(environment: Mapping[str, str]) -> float | None:
    """None when no signs of life are waited for, or those of another process."""
    microseconds, process = (
        environment.get("WATCHDOG_USEC", ""),
        environment.get("WATCHDOG_PID", ""),
    )
    if (
        not (microseconds.isascii() and microseconds.isdecimal())
        or int(microseconds) == 0
    ):
        return None
    return int(microseconds) / 4e6 if process in ("", str(os.getpid())) else None
