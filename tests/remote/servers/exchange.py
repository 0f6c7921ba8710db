"""One request and its answer, as every server, wrapper and transport of these tests passes them on.

An *app* is anything with ``handle``. ``front.Front`` shows an app on a port, ``direct.DirectAdapter`` shows it to a
``requests`` session without any socket, and ``faults.Faulty`` is an app around an app.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol


class ConnectionLost(Exception):
    """The line was cut; the client gets no answer, or the last bytes of one never come."""


class NoAnswer(ConnectionLost):
    """The line stays open and silent, until the client gives up."""


@dataclass(slots=True)
class Response:
    """What goes back."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: int | None = None
    """How many bytes of the whole answer, head included, still reach the client before the line breaks."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One line of a server's log of requests."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    size: int
    """Bytes of the body that arrived."""
    status: int
    """0 where the line was cut before an answer."""


class App(Protocol):
    """Answers requests."""

    def handle(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: str = "127.0.0.1",
    ) -> Response:
        """`path` is the target as it is sent: quoted, with its query.

        A body shorter than its Content-Length is the part that arrived before the client's line broke.
        """
        ...


@dataclass(frozen=True, slots=True)
class Refusing:
    """A server that answers each request with one status."""

    status: int

    def handle(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: str = "127.0.0.1",
    ) -> Response:
        return Response(self.status)


def lowered(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by lower-case name."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {name.lower(): value for name, value in pairs}


def request_head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """A request up to its body, as it travels."""
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
        "",
        "",
    ]
    return "\r\n".join(lines).encode("latin-1", "replace")


def response_head(response: Response) -> bytes:
    """An answer up to its body, as it travels."""
    headers = {
        name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_LINE
    }
    if response.status not in (204, 304):
        headers.setdefault("Content-Length", str(len(response.body)))
    lines = [f"HTTP/1.1 {response.status} {reason(response.status)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


_OF_THE_LINE = {"transfer-encoding", "connection", "keep-alive"}


def reason(status: int) -> str:
    """The words after a status code."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


@lru_cache(maxsize=4096)
def http_date(seconds: int) -> str:
    """A moment as HTTP writes it."""
    return formatdate(seconds, usegmt=True)
