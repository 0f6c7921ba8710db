"""The request to end, which wakes a loop that sleeps. A signal handler may make it at any moment.

A signal handler runs between two instructions of the main thread, which may hold any lock. So the
handler acquires no lock: it writes a byte, and a thread reads the byte and wakes the loop.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class StopRequest:
    """The request to one daemon. `wake` ends the sleep of its loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._is_made = False
        self._writer: int | None = None
        self._event = threading.Event()

    def make(self) -> None:
        """Asks for the end; call it from a signal handler or any thread."""
        self._is_made = True
        if self._writer is not None:
            # A pipe that is full or closed: the loop has the request already.
            with suppress(OSError):
                os.write(self._writer, b"x")

    def is_made(self) -> bool:
        """Whether the daemon has to end."""
        return self._is_made

    def wait(self, seconds: float) -> None:
        """Sleeps, at most until the request is made."""
        self._event.wait(seconds)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Within this, a request wakes the loop."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        thread = threading.Thread(target=self._listen, args=(reader,), name="stop", daemon=True)
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

    def _listen(self, reader: int) -> None:
        while os.read(reader, 1):
            self._event.set()
            self._wake()
