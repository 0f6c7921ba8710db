"""Sends a request to the host that holds its vault, as it came, and returns the answer."""

import hashlib
import hmac
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

SECONDS = 60.0
"""For the answer of the other host"""
MARK = b"x-vault-memory-forwarded"
"""Header of a request that another host has passed on"""
MOVED = b"x-vault-memory-moved"
"""Header of an answer: this host does not hold the vault, and has done nothing"""
_OF_CONNECTION = frozenset(
    {
        b"connection",
        b"content-length",
        b"host",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        MARK,
    }
)
"""Headers that are those of one connection, and the mark of another request"""

Headers = Sequence[tuple[bytes, bytes]]


class HolderAway(Exception):
    """The other host cannot be reached: it has not seen the request."""


class HolderBroke(Exception):
    """The connection broke: the other host may have answered the request."""


class PassedRequest(NamedTuple):
    """A complete request."""

    method: str
    target: str
    """path and query, as they came"""
    headers: Headers
    body: bytes


class PassedAnswer(NamedTuple):
    """The complete answer of the other host."""

    status: int
    headers: Headers
    body: bytes

    @property
    def has_moved(self) -> bool:
        """Whether the other host does not hold the vault either, and has done nothing."""
        return self.status == 503 and any(name == MOVED for name, _ in self.headers)


def mark_of(secret: str, target: str, authorization: bytes) -> bytes:
    """Return the mark that only a host of the fleet can make for this request."""
    # Fault: a client could pretend that its request was passed on already.
    text = b"\0".join((b"forwarded", target.encode(), authorization))
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest().encode()


def pass_on(address: str, request: PassedRequest, mark: bytes) -> PassedAnswer:
    """Send a request to the host at `address`. Raises HolderAway, HolderBroke."""
    connection = _connection(address)
    try:
        try:
            connection.connect()
        except OSError as error:
            raise HolderAway(str(error)) from None
        try:
            _send(connection, request, mark)
            response = connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            raise HolderBroke(str(error)) from None
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in response.getheaders()
        ]
        kept = [pair for pair in headers if pair[0] not in _OF_CONNECTION]
        length = (b"content-length", str(len(body)).encode())
        return PassedAnswer(response.status, [*kept, length], body)
    finally:
        connection.close()


def _connection(address: str) -> HTTPConnection:
    url = urlsplit(address)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    return kind(url.hostname or "", url.port, timeout=SECONDS)


def _send(connection: HTTPConnection, request: PassedRequest, mark: bytes) -> None:
    connection.putrequest(request.method, request.target, skip_accept_encoding=True)
    for name, value in request.headers:
        if name.lower() not in _OF_CONNECTION:
            connection.putheader(name.decode("latin-1"), value.decode("latin-1"))
    connection.putheader(MARK.decode(), mark.decode())
    connection.putheader("Content-Length", str(len(request.body)))
    connection.endheaders(request.body)
