"""A server that says exactly the bytes a test gives it, over a real socket."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator

Say = Callable[[str], Iterable[bytes]]
"""From the request line and headers to the pieces of the answer; after them the line is closed"""


class Wire:
    """Listens on this machine. ``heard`` are the requests' heads, ``bodies`` what came with them."""

    def __init__(
        self, say: Say | bytes, *, pause: float = 0.0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.say: Say = say if callable(say) else lambda _: [say]
        self.heard: list[str] = []
        self.bodies: list[bytes] = []
        self._pause, self._tls = pause, tls
        self._stopped = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(OSError):
                line, _ = self._socket.accept()
                thread = threading.Thread(target=self._serve, args=(line,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, line: socket.socket) -> None:
        if self._tls is not None:
            try:
                line = self._tls.wrap_socket(line, server_side=True)
            except OSError:
                line.close()
                return
        with line, line.makefile("rb") as reader, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                if not (more := reader.readline()):
                    return
                head += more
            text = head.decode("latin-1")
            length = next(
                (int(h[15:]) for h in text.splitlines() if h.lower().startswith("content-length:")),
                0,
            )
            self.heard.append(text)
            self.bodies.append(reader.read(length))
            for piece in self.say(text):
                if self._stopped.wait(self._pause) if self._pause else self._stopped.is_set():
                    return
                line.sendall(piece)
            line.shutdown(socket.SHUT_WR)
            reader.read()

    def close(self) -> None:
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(5)


@contextlib.contextmanager
def wire(say: Say | bytes, *, pause: float = 0.0) -> Iterator[Wire]:
    """A server for one test."""
    server = Wire(say, pause=pause)
    try:
        yield server
    finally:
        server.close()


def answer(status: int, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """A whole answer with its length, or with another one."""
    announced = f"Content-Length: {len(body) if length is None else length}"
    lines = [f"HTTP/1.1 {status} As told", "Connection: close", *headers, announced]
    return "\r\n".join([*lines, "", ""]).encode() + body


XML = "Content-Type: application/xml; charset=utf-8"
HTML = "Content-Type: text/html; charset=utf-8"
DATE = "Date: Sun, 22 Nov 2026 12:00:00 GMT"


def line(
    href: str, *, etag: str = '"t1"', size: int = 3, folder: bool = False, more: str = ""
) -> str:
    """One response of a multistatus."""
    kind = "<d:collection/>" if folder else ""
    sized = (
        ""
        if folder
        else f"<d:getcontentlength>{size}</d:getcontentlength><d:getetag>{etag}</d:getetag>"
    )
    return (
        f"<d:response><d:href>{href}</d:href><d:propstat><d:prop><d:resourcetype>{kind}</d:resourcetype>{sized}"
        "<d:getlastmodified>Sun, 22 Nov 2026 11:00:00 GMT</d:getlastmodified>"
        f"{more}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
    )


def multistatus(*lines: str, head: str = '<?xml version="1.0" encoding="utf-8"?>') -> bytes:
    """The XML of a listing."""
    return f'{head}<d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns">{"".join(lines)}</d:multistatus>'.encode()


def listing(*lines: str) -> bytes:
    """A whole answer to PROPFIND."""
    return answer(207, multistatus(*lines), XML, DATE)


ROOT = line("/vault/", folder=True)
