"""What a process and its service manager tell each other: that it is ready and alive, and has to end.

The protocol of reports is that of sd_notify: small datagrams to the socket in NOTIFY_SOCKET. The
loop itself sends the watchdog messages. A loop that hangs sends none, and the service manager
restarts the daemon. The request to end is a signal.
"""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.2
"""How long to wait for a service manager that does not read"""
START_SECONDS = 120
"""How much more time a start that makes progress asks for"""
SAY_SECONDS = 5.0
"""Time between two status lines about the same work"""


class Notify:
    """The messages of one daemon. Without NOTIFY_SOCKET nothing is sent."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._interval = _watchdog_interval(environment) if self._address else None
        """Seconds between two watchdog messages: a quarter of the timeout"""
        self._next_sign = 0.0
        self._next_line = 0.0
        self._status = ""
        self._is_ready = False

    def ready(self, status: str) -> None:
        """Reports that the first scan is done. From now on the manager expects watchdog messages."""
        self._is_ready = True
        self._status = status
        self._send("READY=1", f"STATUS={status}")
        self._sign()

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next message."""
        if self._interval is None:
            return float("inf")
        return max(0.0, self._next_sign - time.monotonic())

    def report_state(self, status: str) -> None:
        """Sends what is due after a turn of the loop."""
        if status != self._status:
            self._status = status
            self._send(f"STATUS={status}")
        if self.wait() == 0:
            self._sign()

    def progress(self, finished: int, total: int) -> None:
        """Reports during a scan how many of the notes were read."""
        now = time.monotonic()
        if self._is_ready:
            if self.wait() == 0:
                self._sign()
        elif now >= self._next_line:
            self._next_line = now + SAY_SECONDS
            self._send(
                f"EXTEND_TIMEOUT_USEC={START_SECONDS * 1_000_000}",
                f"STATUS=read {finished} of {total} notes",
            )

    def stopping(self) -> None:
        """Reports that the daemon ends."""
        self._interval = None
        self._send("STOPPING=1", "STATUS=ending")

    def _sign(self) -> None:
        if self._interval is not None:
            self._next_sign = time.monotonic() + self._interval
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(PATIENCE_SECONDS)
                sender.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            # The daemon works also without its service manager, which may be
            # restarting.
            logger.info("the service manager does not take a message: %s", error)


def _address(name: str) -> bytes | None:
    """Returns the address of a path, or of an abstract name, which begins with ``@``.

    None for other names, such as those of vsock.
    """
    if name.startswith("@") and len(name) > 1:
        return b"\0" + os.fsencode(name[1:])
    return os.fsencode(name) if name.startswith("/") else None


def _watchdog_interval(environment: Mapping[str, str]) -> float | None:
    """Returns the seconds between two watchdog messages; None when this process sends none."""
    timeout = environment.get("WATCHDOG_USEC", "")
    process = environment.get("WATCHDOG_PID", "")
    if not (timeout.isascii() and timeout.isdecimal()) or int(timeout) == 0:
        return None
    # Fault: a child process inherits the environment. Its messages would hide that the
    # daemon hangs.
    if process not in ("", str(os.getpid())):
        return None
    return int(timeout) / 4e6


# --- Stop request ---

# A signal handler runs between two instructions of the main thread, which may hold any lock. So
# the handler acquires no lock: it writes a byte, and a thread reads the byte and wakes the loop.


class StopRequest:
    """The request to end a process. A signal handler or any thread may make it at any moment."""

    def __init__(self) -> None:
        self._is_made = False
        self._writer: int | None = None
        self._event = threading.Event()

    def make_at_signals(self) -> None:
        """Lets SIGINT and SIGTERM only make the request: an exception could end a write midway."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.make())

    def make(self) -> None:
        """Asks for the end."""
        self._is_made = True
        if self._writer is not None:
            # A pipe that is full or closed: the loop has the request already.
            with suppress(OSError):
                os.write(self._writer, b"x")

    def is_made(self) -> bool:
        """Whether the process has to end."""
        return self._is_made

    def wait(self, seconds: float | None = None) -> None:
        """Sleeps, at most until the request is made."""
        self._event.wait(seconds)

    @contextmanager
    def waking(self, wake: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Within this, a request ends `wait`, and calls `wake` to end the sleep of a loop."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        thread = threading.Thread(
            target=self._listen, args=(reader, wake), name="stop", daemon=True
        )
        thread.start()
        self._writer = writer
        try:
            # A signal before the pipe existed woke nothing.
            if self._is_made:
                os.write(writer, b"x")
            yield
        finally:
            self._writer = None
            os.close(writer)
            thread.join()
            os.close(reader)

    def _listen(self, reader: int, wake: Callable[[], None]) -> None:
        while os.read(reader, 1):
            self._event.set()
            wake()
