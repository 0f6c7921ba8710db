"""A deadline for every exchange, even if the server sends a byte now and then: the socket is shut down."""

import socket
import threading
import time
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class HttpExchange:
    """One request and its answer."""

    ends: float
    """on the monotonic clock"""
    sock: socket.socket | None = None
    late: bool = False


@dataclass(slots=True)
class Deadlines:
    """Watches all exchanges of a remote from a thread of its own."""

    seconds: float
    _running: set[HttpExchange] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _thread: threading.Thread | None = None
    _asleep: bool = False

    def start(self) -> HttpExchange:
        exchange = HttpExchange(time.monotonic() + self.seconds)
        with self._changed:
            self._running.add(exchange)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="remote-deadlines", daemon=True
                )
                self._thread.start()
            elif self._asleep:
                self._changed.notify()
        return exchange

    def stop(self, exchange: HttpExchange) -> None:
        with self._changed:
            self._running.discard(exchange)

    def close(self) -> None:
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify()
        if thread is not None:
            thread.join()

    def _watch(self) -> None:
        idle = False
        with self._changed:
            while self._thread is threading.current_thread():
                now = time.monotonic()
                late = [each for each in self._running if each.ends <= now]
                for exchange in late:
                    self._running.discard(exchange)
                    _cut(exchange)
                ends = min(
                    (exchange.ends for exchange in self._running), default=now + self.seconds
                )
                # All exchanges have the same time, so one that starts during the wait ends after it.
                self._asleep = idle and not self._running
                idle = not self._running
                self._changed.wait(None if self._asleep else max(0.01, ends - now))
                self._asleep = False


def _cut(exchange: HttpExchange) -> None:
    exchange.late = True
    if exchange.sock is not None:
        try:
            # Fault: a server that sends a byte now and then never runs into a read
            # timeout. A close from another thread would not wake the reader; a shutdown
            # does.
            socket.socket.shutdown(exchange.sock, socket.SHUT_RDWR)
        except OSError:
            exchange.sock.close()
