"""Limits of connections: deadlines for incomplete requests, and places for clients with a token.

uvicorn has no deadline for an incomplete head, and none for a body after its answer. It reads from
as many connections as the system lets it open. Without these limits a client that opens connections
and sends nothing keeps all others out.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

LONGEST_HEAD = 16 * 1024
"""Bytes of a request line with its headers"""
LONGEST_READ = 64 * 1024
"""Bytes of one read of a connection; asyncio reads 256 KiB"""


_LOOSE_LINE = re.compile(rb"(?<!\r)\n|\n[ \t]")
"""A line that ends without CR, or that continues the one before it"""


class StrictLines(ReceiveBuffer):
    """The bytes that h11 has not read yet. A head has lines that every proxy reads in the same way.

    RFC 9112 lets a server refuse both forms that h11 accepts: a bare LF at the end of a line
    (section 2.2), and a line that continues the one before it (section 5.2).
    """

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Returns the lines of a head or of trailers; None while they are incomplete."""
        unread = bytes(self._data)
        lines = super().maybe_extract_lines()
        # Fault: a proxy in front of this server may read another header, or another request.
        read = unread[: len(unread) - len(self)]
        if lines is not None and _LOOSE_LINE.search(read):
            raise h11.LocalProtocolError("a line of the head is folded or has no CR")
        return lines


@dataclass(slots=True)
class Limits:
    """The limits of one server. `most` is lower for a while after descriptors ran out."""

    most: int = 4096
    """Connections of all addresses"""
    most_of_address: int = 2048
    """Connections of one address; behind a proxy, all clients have the address of the proxy"""
    head_seconds: float = 10.0
    """For a request line with its headers to arrive"""
    body_seconds: float = 35.0
    """For a body to arrive; a body that goes on after the answer (30 seconds) ends here"""
    stall_seconds: float = 30.0
    """For a client to take more of an answer"""


class Connection(H11Protocol):
    """One connection of a client. It ends at its deadline, or when its place is needed."""

    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn._receive_buffer = StrictLines()
        self.app_state = {**self.app_state, "connection": self}
        self.address = ""
        self.since = self.loop.time()
        self.trusted = False
        """Whether a request with a valid token came over it"""
        self._limits = limits
        self._awaited: object = None
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    @property
    def open_connections(self) -> "list[Connection]":
        """The open connections of this server, including this one."""
        return [connection for connection in self.connections if isinstance(connection, Connection)]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        transport.max_size = LONGEST_READ  # type: ignore[attr-defined]
        self._watch()
        if not self._has_place():
            self._refuse(503, "busy", "too many connections are open", "try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._deadline)
        _cancel(self._stall)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        _cancel(self._stall)
        # Fault: a client that does not read keeps its answer in the memory.
        self._stall = self.loop.call_later(self._limits.stall_seconds, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._stall)

    def drop(self) -> None:
        """Closes it at once, also in the middle of an answer."""
        self.transport.abort()

    def can_be_dropped(self) -> bool:
        """Whether no client waits for an answer: it is idle, or receives a body without a token."""
        if self.transport.is_closing():
            return False
        state = self.conn.their_state
        return state is h11.IDLE or (state is h11.SEND_BODY and not self.trusted)

    def _watch(self) -> None:
        """Sets the deadline for the next part of a request."""
        state = self.conn.their_state
        # Fault: a client that sends a byte now and then must not renew its deadline.
        if state is self._awaited:
            return
        self._awaited = state
        _cancel(self._deadline)
        if state is h11.IDLE:
            self._deadline = self.loop.call_later(self._limits.head_seconds, self._head_is_late)
        elif state is h11.SEND_BODY:
            self._deadline = self.loop.call_later(self._limits.body_seconds, self.drop)

    def _head_is_late(self) -> None:
        if self.conn.trailing_data[0] and self.conn.our_state is h11.IDLE:
            self._refuse(408, "too_slow", "the request did not arrive in time", "send it again")
        else:
            self.drop()

    def _has_place(self) -> bool:
        """Whether it may stay. At the limit, another connection is dropped if one can be."""
        earlier = [connection for connection in self.open_connections if connection is not self]
        # Fault: one address must not occupy the places of all others.
        of_address = [connection for connection in earlier if connection.address == self.address]
        if self.address and len(of_address) >= self._limits.most_of_address:
            return drop_some(of_address)
        return len(earlier) < self._limits.most or drop_some(earlier)

    def _refuse(self, status: int, code: str, message: str, hint: str) -> None:
        """Answers without reading the request."""
        body = json.dumps({"error": {"code": code, "message": message, "hint": hint}}).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def drop_some(connections: Iterable[Connection], most: int = 1) -> bool:
    """Drops up to `most` connections on which no client waits for an answer; False without any.

    Those without a token go first, then those of the address with the most, then the oldest.
    """
    candidates = [connection for connection in connections if connection.can_be_dropped()]
    counts = Counter(connection.address for connection in candidates)

    def order(connection: Connection) -> tuple[bool, int, float]:
        return connection.trusted, -counts[connection.address], connection.since

    candidates.sort(key=order)
    for connection in candidates[:most]:
        connection.drop()
    return bool(candidates)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
